/** A supervisor's Sessions in a process of their own, with one Turn running, to be killed by a test. */
import { createWorld } from "../harness.ts"

const world = await createWorld({ directory: process.argv[2] ?? "" })
const assignment = world.assignment("escapee")
const command = world.dispatch(assignment.sessionId, "hang")
world.apply({ type: "assign", assignment }, command)
await world.event("turn_started")
console.log(JSON.stringify({ assignment, command, pid: world.sessions.find(assignment.sessionId)?.pid }))
