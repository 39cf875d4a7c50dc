/**
 * A supervisor's Sessions in a process of their own, brought to a state that a test names, to be killed there. One line
 * says that the state is reached, and what is in it.
 */
import type { LinkEvent } from "@computerd/protocol/link"
import { createWorld } from "../harness.ts"

export interface Supervised {
  readonly directory: string
  readonly agent: string
  /** Of the Turn that is dispatched. */
  readonly text?: string
  /** Reached once this event is there. */
  readonly until: LinkEvent["type"]
  /** Getter calls are taken and never answered. */
  readonly connect?: "never"
  readonly begun?: "cancel" | "release"
  readonly startTimeoutMs?: number
}

const asked: Supervised = JSON.parse(process.argv[2] ?? "")
const world = await createWorld({
  directory: asked.directory,
  ...(asked.connect === "never" ? { connect: () => new Promise(() => undefined) } : {}),
  ...(asked.startTimeoutMs === undefined ? {} : { startTimeoutMs: asked.startTimeoutMs }),
})
const assignment = world.assignment(asked.agent)
const { sessionId } = assignment
const command = world.dispatch(sessionId, asked.text ?? "")
world.apply({ type: "assign", assignment })
if (asked.text !== undefined) world.apply(command)
await world.event(asked.until)
const { id: turnId } = command.turn
if (asked.begun === "cancel")
  world.apply({ type: "cancel_turn", sessionId, turnId, status: "interrupted", graceMs: 400 })
if (asked.begun === "release") world.apply({ type: "release", sessionId, graceMs: 400 })
const pid = await world.until(() => world.sessions.find(sessionId)?.pid)
if (asked.connect === "never")
  await world.until(() => world.store.processes.calls(sessionId).length > 0 || undefined)
console.log(JSON.stringify({ assignment, command, pid, events: world.events }))
