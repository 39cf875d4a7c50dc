/** Runs one schedule to its end: the plan, then healing, then the checks that need everything to have settled. */
import { drainMicrotasks } from "bun:jsc"
import type { HoldId, SessionId } from "@computerd/protocol/ids"
import { performFault, performWork, type Stage } from "./actions.ts"
import { createCallers } from "./callers.ts"
import { checkEnd, checkStep, isSettled } from "./checks.ts"
import { SimControlPlane, sceneOf } from "./control-plane.ts"
import { describe, type Plan } from "./plan.ts"
import { randomFrom } from "./random.ts"
import { SimSupervisor } from "./supervisor.ts"
import { Time } from "./time.ts"
import { Truth } from "./truth.ts"
import { countingIds, Died, type World } from "./world.ts"

export interface Outcome {
  readonly steps: number
  readonly faults: ReadonlyMap<string, number>
  readonly violation: string | undefined
  readonly trace: readonly string[]
}

/** Restarts, lapses and redials are over well within this. */
const healMaxMs = 900_000
const stepsMax = 60_000
const settleEveryMs = 2_000

/** Both are tried one after the other: a supervisor that was refused for good is its driver's to start again. */
const heal = (stage: Stage): void => {
  const { world, controlPlane, supervisors } = stage
  controlPlane.life?.machine.goOn(world.time.nowMs)
  controlPlane.makeRoom()
  controlPlane.start()
  for (const one of supervisors) {
    Object.assign(one.network, { partitioned: false, latencyMs: 20 })
    one.goOn()
    one.makeRoom()
  }
  const [first] = supervisors
  if (supervisors.every((one) => !one.isUp || one.rejected)) {
    first?.kill()
    first?.start()
  }
}

interface HoldInForce {
  readonly id: HoldId
  readonly session_id: SessionId
}

/** A person looks at what was lost, and lets it go on. */
const releaseHolds = ({ controlPlane }: Stage): void => {
  const holds = controlPlane.look((database) =>
    database.query<HoldInForce, []>("SELECT id, session_id FROM holds WHERE released_at IS NULL").all(),
  )
  for (const { id: holdId, session_id: sessionId } of holds)
    controlPlane.life?.receiver.control({ kind: "release", sessionId, holdId })
}

export const runSchedule = (seed: number, plan: Plan, traced = false): Outcome => {
  const random = randomFrom(seed ^ 0x5bd1e995)
  const time = new Time()
  const truth = new Truth()
  const trace: string[] = []
  const faults = new Map<string, number>()
  const scene = sceneOf()
  const world: World = {
    time,
    random,
    truth,
    newId: countingIds(scene.ids),
    trace: (text) => {
      if (traced) trace.push(`${String(time.nowMs).padStart(7)} ms  ${text}`)
    },
    faulted: (kind) => faults.set(kind, (faults.get(kind) ?? 0) + 1),
  }
  const supervisors = ["first", "rival"].map(
    (name): SimSupervisor =>
      new SimSupervisor({
        world,
        name,
        computerId: scene.computerId,
        listener: () => controlPlane.listener(scene.computerId),
      }),
  )
  const controlPlane: SimControlPlane = new SimControlPlane(world, () =>
    supervisors.flatMap((one) => [...one.wires]),
  )
  const owner = (): SimSupervisor | undefined =>
    supervisors.find((one) => one.life?.lease.state().state === "held")
  const callers = createCallers({ world, maximum: scene.maximum, supervisor: owner })
  const stage: Stage = { world, controlPlane, supervisors, callers, scene, owner }

  /** A process that dies ends what it was doing; anything else that is thrown here nobody in the product caught. */
  const stepOnce = (untilMs: number): boolean => {
    try {
      return time.step(untilMs)
    } catch (error) {
      truth.check("faults", error instanceof Died, () => `nobody caught ${String(error)}`)
      return true
    }
  }

  let steps = 0
  const runUntil = (untilMs: number): void => {
    while (truth.violation === undefined) {
      if (steps >= stepsMax) {
        truth.check("settling", false, () => `more than ${stepsMax} steps: something goes round in circles`)
        return
      }
      if (!stepOnce(untilMs)) return
      drainMicrotasks()
      steps += 1
      checkStep(stage)
    }
  }

  controlPlane.start()
  supervisors[0]?.start()
  drainMicrotasks()
  for (const action of plan)
    time.after(action.atMs, () => {
      world.trace(describe(action).trimStart())
      if ("fault" in action.what) performFault(stage, action.what.fault, randomFrom(action.salt))
      else performWork(stage, action.what.work, randomFrom(action.salt))
    })
  const lastMs = plan.at(-1)?.atMs ?? 0
  runUntil(lastMs + 1)
  world.trace("healing")
  heal(stage)
  const endMs = time.nowMs + healMaxMs
  let settled = false
  while (truth.violation === undefined && time.nowMs < endMs && !settled) {
    time.after(0, () => releaseHolds(stage))
    runUntil(time.nowMs + settleEveryMs)
    heal(stage)
    drainMicrotasks()
    settled = isSettled(stage)
  }
  if (truth.violation === undefined) checkEnd(stage, settled, new Set(faults.keys()))
  for (const one of supervisors) one.dispose()
  controlPlane.dispose()
  return { steps, faults, violation: truth.violation?.message, trace }
}
