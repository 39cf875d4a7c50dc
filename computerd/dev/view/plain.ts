/** One line for each event, for output that is no terminal. Ids are whole, so that lines can be searched. */
import { elapsed, errorText, oneLine, sessionWords } from "../../view/text.ts"
import type { FleetEvent } from "./fleet.ts"

const text = (event: FleetEvent): string | undefined => {
  switch (event.type) {
    case "deployment_added":
      return `Deployment ${event.deploymentId}: published`
    case "computer_changed": {
      const state = event.status === "available" ? event.residency : event.status
      return `Computer ${event.computerId}: ${state}${event.error === null ? "" : ` (${event.error})`}`
    }
    case "session_changed": {
      const place = event.added ? ` on Computer ${event.computerId}` : ""
      return `Session ${event.sessionId} ${event.agent}${place}: ${sessionWords(event.status, event.process)}`
    }
    case "turn_changed": {
      const { error } = event
      const reason = error === null ? "" : ` (${errorText(error)})`
      return `Turn ${event.turnId} of Session ${event.sessionId}: ${event.status}${reason}`
    }
    case "turn_output":
      return undefined
    case "hold_changed":
      return `Session ${event.sessionId}: ${event.released ? "released from" : "held by"} ${event.kind} ${event.holdId}`
    case "messages_dropped":
      return `Turn ${event.turnId} of Session ${event.sessionId}: ${event.count} messages dropped`
    case "question_changed":
      return `Turn ${event.turnId} of Session ${event.sessionId}: question ${event.questionId} ${event.status}`
  }
}

/** Absent for what is not shown as an event of its own. */
export const eventLine = (event: FleetEvent, startedAtMs: number): string | undefined => {
  const what = text(event)
  return what === undefined ? undefined : oneLine(`${elapsed(event.atMs - startedAtMs)} ${what}`)
}
