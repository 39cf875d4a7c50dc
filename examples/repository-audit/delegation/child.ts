/** One child Session: spawned once, whatever is repeated, and waited for until its Turn has settled. */
import { retried } from "./retry.ts"
import { type ToolArguments, ToolError, type ToolResult, type Tools } from "./tools.ts"

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

/** One wait. In between it asks whether there is still something to wait for. */
const waitMs = 5_000
/** A child that has not started by then has no Computer to start on. */
const queuedWaitsMax = 60

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

const heldForRecovery = (session: ToolResult): ChildOutcome | undefined => {
  const holds = session["holds"]
  const hold: unknown = Array.isArray(holds)
    ? holds.find((one) => field(one, "kind") === "recovery")
    : undefined
  if (hold === undefined) return undefined
  const reason = stringOr(field(field(hold, "recovery_gap"), "reason"), null)
  return { status: "failed", code: "process_lost", message: reason }
}

const isQueued = (session: ToolResult): boolean => field(session["initial_turn"], "status") === "queued"

/** Why a Turn that has not settled never will, as far as this program is concerned. */
const hopeless = (session: ToolResult, waits: number): ChildOutcome | undefined => {
  if (!isQueued(session)) return undefined
  const held = heldForRecovery(session)
  if (held !== undefined || waits < queuedWaitsMax) return held
  const message = `it was still queued after ${(waits * waitMs) / 1000} s`
  return { status: "failed", code: "not_started", message }
}

export const runChild = async (
  tools: Tools,
  request: ChildRequest,
  signal: AbortSignal,
): Promise<ChildOutcome> => {
  const { agent, text, idempotencyKey } = request
  const call = (name: string, args: ToolArguments): Promise<ToolResult> =>
    retried(() => tools.call(name, args, signal), signal)
  const input = [{ type: "text", text }]
  const { sessionId, turnId } = await call("spawn", { agent, input, idempotencyKey })
  for (let waits = 1; ; waits += 1) {
    const state = await call("wait_turn", { sessionId, turnId, timeoutMs: waitMs })
    if (state["status"] === "settled") return outcomeOf(state)
    const given = hopeless(await call("inspect_session", { sessionId }), waits)
    if (given !== undefined) return given
  }
}
