/** What drivers report of Computers. */
import { ComputerId } from "@computerd/protocol/ids"
import { type Action, pick, type Stage } from "./stage.ts"
import { loseThere } from "./supervisors.ts"

export const lose = (stage: Stage, { a }: Action): void => {
  if (a % 8 !== 0) return
  const computer = stage.computer(a >> 3)
  if (computer === undefined || computer.status === "deleted") return
  stage.rig.receiver.computerLost(ComputerId.parse(computer.id), "gone")
  Object.assign(computer, {
    attached: false,
    leased: false,
    residency: "unavailable",
    epoch: computer.epoch + 1,
  })
  computer.sent.length = 0
  for (const session of stage.sessions())
    if (session.computer === computer.id && session.status !== "closed") loseThere(stage, session)
  stage.world.advance()
}

/** The driver does as it is asked, mostly. */
export const report = (stage: Stage, { a, b }: Action): void => {
  const computer = stage.computer(a)
  if (computer === undefined || computer.status === "deleted") return
  const obedient = { running: "running", parked: "parked", idle: "cold", deleted: "cold" }[computer.desired]
  const residency =
    b % 4 === 0
      ? pick(
          ["starting", "running", "parking", "parked", "restoring", "unavailable", "cold"] as const,
          b >> 2,
        )
      : obedient
  if (residency === undefined) return
  const parsed = residency as "running"
  stage.rig.receiver.computerState(ComputerId.parse(computer.id), parsed, "a reason")
  if (!(computer.attached && residency === "starting")) computer.residency = residency
  stage.world.advance()
}

export const remove = (stage: Stage): void => {
  for (const computer of stage.world.computers.values()) {
    if (computer.status !== "deleting") continue
    stage.rig.receiver.computerDeleted(ComputerId.parse(computer.id))
    Object.assign(computer, {
      status: "deleted",
      residency: "cold",
      attached: false,
      leased: false,
      epoch: computer.epoch + 1,
    })
  }
  stage.world.advance()
}
