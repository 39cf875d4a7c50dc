/**
 * What an event that cannot be sent any more still tells, so that nothing waits for ever for the end that it reported.
 */
import { Generation, SessionId, TurnId } from "@computerd/protocol/ids"
import { LinkEvent } from "@computerd/protocol/link"
import { z } from "zod"

const Ended = z.object({
  type: z.enum(["turn_settled", "process_exited"]),
  sessionId: SessionId,
  generation: Generation,
  turnId: TurnId.optional(),
})

const parsed = (body: string): unknown => {
  try {
    return JSON.parse(body)
  } catch {
    return undefined
  }
}

export type Read =
  | { readonly ok: true; readonly event: LinkEvent }
  | { readonly ok: false; readonly reason: string; readonly instead: LinkEvent | undefined }

const lostReport = "the supervisor's record of how it ended cannot be read any more"

const insteadOf = (value: unknown): LinkEvent | undefined => {
  const ended = Ended.safeParse(value)
  if (!ended.success) return undefined
  const { type, sessionId, generation, turnId } = ended.data
  if (type === "process_exited") {
    const reason = { kind: "unknown", message: lostReport } as const
    return { type, sessionId, generation, reason, expected: false, ...(turnId && { turnId }) }
  }
  if (turnId === undefined) return undefined
  const error = { code: "process_lost", message: lostReport }
  return { type, sessionId, generation, turnId, outcome: { status: "interrupted", error } }
}

export const readEvent = (body: string): Read => {
  const value = parsed(body)
  const event = LinkEvent.safeParse(value)
  if (event.success) return { ok: true, event: event.data }
  return { ok: false, reason: z.prettifyError(event.error), instead: insteadOf(value) }
}
