/** What a catalogue entry is. Schemas are strict on both sides: an unknown field is refused in arguments and results. */
import type { RuleOperation } from "@computerd/protocol/scope"
import type { ToolName } from "@computerd/protocol/tools"
import type { z } from "zod"

/** MCP annotations: hints for clients that ask a person before a call. */
export interface Annotations {
  readonly readOnlyHint: boolean
  readonly destructiveHint: boolean
  readonly idempotentHint: boolean
  readonly openWorldHint: false
}

/** The rule that must be granted: an operation, either creation operation, or none. */
export type ToolGrant = RuleOperation | "creation" | "none"

/**
 * How the receiver finds the Agent that the grant must name: an argument, the Agent of the Session in an argument,
 * each entry that a list would show, or none.
 */
export type ToolTarget = "agent_argument" | "session_argument" | "each_entry" | "none"

export interface Tool<Name extends ToolName = ToolName, Arguments = unknown, Value = unknown> {
  readonly name: Name
  readonly title: string
  readonly description: string
  readonly input: z.ZodType<Arguments>
  readonly result: z.ZodType<Value>
  readonly annotations: Annotations
  readonly operation: ToolGrant
  readonly target: ToolTarget
  /** Refused to children, and left out of what a child is shown. */
  readonly rootOnly: boolean
  /** Takes an `idempotencyKey` and leaves a receipt. */
  readonly mutating: boolean
  /** The argument that holds text parts. */
  readonly content?: "input" | "message"
}

export type ArgumentsOf<Entry> = Entry extends Tool<ToolName, infer Arguments, unknown> ? Arguments : never
export type ResultOf<Entry> = Entry extends Tool<ToolName, unknown, infer Value> ? Value : never

export const tool = <const Name extends ToolName, Arguments, Value>(
  entry: Tool<Name, Arguments, Value>,
): Tool<Name, Arguments, Value> => entry

const base = { idempotentHint: true, openWorldHint: false } as const

export const reads: Annotations = { ...base, readOnlyHint: true, destructiveHint: false }
/** Adds work or lets work go on; repeated with its key it does nothing more. */
export const adds: Annotations = { ...base, readOnlyHint: false, destructiveHint: false }
/** Stops or cancels work that is under way. */
export const stops: Annotations = { ...base, readOnlyHint: false, destructiveHint: true }
