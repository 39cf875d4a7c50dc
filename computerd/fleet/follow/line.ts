/** One line for each event, for output that is no terminal. Ids are whole. Pure. */
import type { SessionEvent } from "@helmr/sdk"
import { counted, oneLine } from "../../view/text.ts"

const because = (reason: string | null): string => (reason === null ? "" : ` (${reason})`)

const what = (event: SessionEvent): string | undefined => {
  switch (event.type) {
    case "session_created": {
      const parent = event.parentSessionId === null ? "" : `, child of ${event.parentSessionId}`
      return `${event.agent} on Computer ${event.computerId}${parent}`
    }
    case "session_closing":
      return event.mode === "cancel" ? "being cancelled" : "closing"
    case "session_closed":
      return "closed"
    case "process_starting":
      return `process ${event.generation} starting`
    case "process_ready":
      return `process ${event.generation} ready`
    case "process_exited":
      return `process ${event.generation} ended${because(event.reason)}`
    case "turn_queued":
      return `Turn ${event.turnId}: queued`
    case "turn_started":
      return `Turn ${event.turnId}: running`
    case "turn_settled":
      return `Turn ${event.turnId}: ${event.status}${because(event.errorCode)}`
    // Shown as output, not as an event.
    case "turn_output":
      return undefined
    case "turn_output_truncated":
      return `Turn ${event.turnId}: output beyond ${event.keptBytes} bytes is not kept`
    case "hold_placed":
      return `held by ${event.kind} ${event.holdId}${because(event.reason)}`
    case "hold_released":
      return `released from ${event.kind} ${event.holdId}`
    case "message_accepted":
      return `Turn ${event.turnId}: message ${event.messageId}`
    case "messages_dropped":
      return `Turn ${event.turnId}: ${counted(event.messageIds.length, "message")} dropped`
    case "question_asked":
      return `Turn ${event.turnId}: question ${event.questionId} asked`
    case "question_answered":
      return `Turn ${event.turnId}: question ${event.questionId} answered`
    case "question_cancelled":
      return `Turn ${event.turnId}: question ${event.questionId} cancelled`
  }
}

/** Begins with the time of the event; absent for what is no event of its own. */
export const eventText = (event: SessionEvent): string | undefined => {
  const said = what(event)
  return said === undefined ? undefined : oneLine(`${event.at} Session ${event.sessionId}: ${said}`)
}
