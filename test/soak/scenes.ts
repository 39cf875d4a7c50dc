/** What owners do in the soak, again and again. Each scene ends what it began and throws when something was not as it should be. */
import { rm } from "node:fs/promises"
import { join } from "node:path"
import { until } from "../control-plane/drivers/rig.ts"
import { input } from "../e2e/plane.ts"
import type { Admitted, Owner } from "./owner.ts"
import type { Choices } from "./random.ts"
import type { Stage } from "./stage.ts"

export interface Scene {
  readonly stage: Stage
  readonly owner: Owner
  readonly choices: Choices
}

const expectEnd = async (owner: Owner, turn: Admitted, wanted: string): Promise<void> => {
  const status = await owner.settled(turn)
  if (status !== wanted) throw new Error(`${turn.turnId} of ${turn.sessionId} is ${status}, not ${wanted}`)
}

/** The owner's own Computer nine times of ten: a new one costs a supervisor. */
const placement = ({ owner, choices }: Scene) =>
  choices.below(10) === 0 ? {} : { computerId: owner.computerId }

const spawn = (scene: Scene, work: object): Promise<Admitted> =>
  scene.owner.give("spawn", { agent: "worker", input: input(work), ...placement(scene) })

const end = async (scene: Scene, sessionId: string): Promise<void> => {
  await scene.owner.ask(scene.choices.oneOf(["close_session", "cancel_session"]), { sessionId })
}

let files = 0
/** A worker in the middle of a Turn, with its process; `open` lets the Turn complete. */
const working = async (scene: Scene) => {
  files += 1
  const [note, gate] = ["note", "gate"].map((name) => join(scene.stage.rig.root, `${name}-${files}`)) as [
    string,
    string,
  ]
  const turn = await spawn(scene, { note, gate })
  const pid = await until("the worker's process", async () => {
    const said = await Bun.file(note)
      .text()
      .catch(() => "")
    return said === "" ? undefined : Number(said)
  })
  // The process knows before the control plane does.
  const { sessionId, turnId } = turn
  await until("the Turn to run", async () => {
    const { status } = await scene.owner.ask("inspect_turn", { sessionId, turnId })
    return status === "running" ? true : undefined
  })
  return {
    turn,
    pid,
    open: () => Bun.write(gate, ""),
    forget: () => Promise.all([note, gate].map((file) => rm(file, { force: true }))),
  }
}

/** The next Turn of a Session that was interrupted or rebuilt runs as any other. */
const another = async ({ owner }: Scene, sessionId: string): Promise<void> =>
  expectEnd(owner, await owner.give("enqueue", { sessionId, input: input({}) }), "completed")

const delegates = async (scene: Scene): Promise<void> => {
  const turn = await spawn(scene, {})
  await expectEnd(scene.owner, turn, "completed")
  await another(scene, turn.sessionId)
  await end(scene, turn.sessionId)
}

const messages = async (scene: Scene): Promise<void> => {
  const { turn, open, forget } = await working(scene)
  await scene.owner.ask("send_turn", { ...turn, sequence: undefined, message: input({ hello: 1 }) })
  await open()
  await expectEnd(scene.owner, turn, "completed")
  await end(scene, turn.sessionId)
  await forget()
}

const interruptsTurn = async (scene: Scene): Promise<void> => {
  const { turn, forget } = await working(scene)
  const { sessionId, turnId } = turn
  await scene.owner.ask("interrupt_turn", { sessionId, turnId })
  await expectEnd(scene.owner, turn, "interrupted")
  await another(scene, sessionId)
  await end(scene, sessionId)
  await forget()
}

const interruptsSession = async (scene: Scene): Promise<void> => {
  const { turn, forget } = await working(scene)
  const { sessionId } = turn
  const { holdId } = await scene.owner.ask("interrupt_session", { sessionId })
  await expectEnd(scene.owner, turn, "interrupted")
  await scene.owner.ask("resume_session", { sessionId, holdId })
  await another(scene, sessionId)
  await end(scene, sessionId)
  await forget()
}

const cancels = async (scene: Scene): Promise<void> => {
  const { turn, forget } = await working(scene)
  await scene.owner.ask("cancel_session", { sessionId: turn.sessionId })
  await expectEnd(scene.owner, turn, "cancelled")
  await forget()
}

type Holds = readonly { readonly id: string; readonly kind: string }[]

/** SIGKILL in the middle of a Turn: the Turn is lost, its owner releases the hold and goes on. */
const losesProcess = async (scene: Scene): Promise<void> => {
  const { owner } = scene
  const { turn, pid, forget } = await working(scene)
  const { sessionId } = turn
  process.kill(pid, "SIGKILL")
  await expectEnd(owner, turn, "interrupted")
  const holdId = await until("the recovery hold", async () => {
    const { holds } = (await owner.ask("inspect_session", { sessionId })) as { readonly holds: Holds }
    return holds.find(({ kind }) => kind === "recovery")?.id
  })
  await owner.ask("resume_session", { sessionId, holdId })
  await another(scene, sessionId)
  await end(scene, sessionId)
  await forget()
}

/** Work that nobody owns, on a Computer of its own, which goes when nothing uses it. */
const starts = async ({ owner }: Scene): Promise<void> => {
  const turn = await owner.give("start", { agent: "traveller", input: input({}) })
  await expectEnd(owner, turn, "completed")
  await until("the traveller to close", async () => {
    const { sessionId } = turn
    if ((await owner.ask("inspect_session", { sessionId }))["status"] === "closed") return true
    await Bun.sleep(200)
    return undefined
  })
}

const often = [delegates, messages, interruptsTurn, interruptsSession, cancels, losesProcess]

/** `starts` costs a Computer, so it comes less often. */
export const playScene = async (scene: Scene): Promise<string> => {
  const play =
    scene.choices.below(12) === 0 ? starts : (often[scene.choices.below(often.length)] ?? delegates)
  await play(scene)
  return play.name
}
