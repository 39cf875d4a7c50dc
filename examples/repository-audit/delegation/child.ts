/** One child Session: spawned once, whatever is repeated, and waited for until its Turn has settled. */
import { retried } from "./retry.ts"
import { ToolError, type ToolResult, type Tools } from "./tools.ts"

export interface ChildRequest {
  readonly agent: string
  readonly text: string
  readonly idempotencyKey: string
}

export type ChildOutcome =
  | { readonly status: "completed"; readonly result: unknown }
  | {
      readonly status: "failed" | "interrupted" | "cancelled"
      readonly code: string
      readonly message: string | null
    }

/** The longest single wait that the server allows. */
const waitMs = 30_000

const field = (value: unknown, name: string): unknown =>
  typeof value === "object" && value !== null
    ? Object.entries(value).find(([key]) => key === name)?.[1]
    : undefined

const stringOr = <Fallback>(value: unknown, fallback: Fallback): string | Fallback =>
  typeof value === "string" ? value : fallback

const outcomeOf = (settled: ToolResult): ChildOutcome => {
  const outcome = settled["outcome"]
  const status = field(outcome, "status")
  if (status === "completed") return { status, result: field(outcome, "result") }
  if (status !== "failed" && status !== "interrupted" && status !== "cancelled")
    throw new ToolError("internal", "wait_turn answered with an unknown outcome")
  const error = field(outcome, "error")
  return {
    status,
    code: stringOr(field(error, "code"), status),
    message: stringOr(field(error, "message"), null),
  }
}

export const runChild = async (
  tools: Tools,
  request: ChildRequest,
  signal: AbortSignal,
): Promise<ChildOutcome> => {
  const { agent, text, idempotencyKey } = request
  const input = [{ type: "text", text }]
  const { sessionId, turnId } = await retried(
    () => tools.call("spawn", { agent, input, idempotencyKey }, signal),
    signal,
  )
  for (;;) {
    const wait = { sessionId, turnId, timeoutMs: waitMs }
    const state = await retried(() => tools.call("wait_turn", wait, signal), signal)
    if (state["status"] === "settled") return outcomeOf(state)
  }
}
