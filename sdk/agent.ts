/** The definition of an Agent. */
import type { AgentContext, InitContext } from "./context.ts"
import { definition } from "./definition.ts"
import type { RuntimeMcpPolicy } from "./mcp.ts"
import type { Template } from "./template.ts"
import type { Turn } from "./turn.ts"
import type { Duration } from "./units.ts"

/**
 * `Value` itself where JSON can hold it, and `never` in the places where it cannot. Optional fields may be absent or
 * undefined; JSON leaves them out.
 */
export type JsonCompatible<Value> = Value extends null | boolean | number | string | undefined
  ? Value
  : Value extends bigint | symbol | ((...args: never) => unknown)
    ? never
    : { readonly [Key in keyof Value]: JsonCompatible<Value[Key]> }

export interface AgentSpec<InitResult, Result> {
  readonly id: string
  /** The Computer that a Session of this Agent gets when none is named. */
  readonly template: Template
  /** The most that a connection of this Agent can do. Absent: fixed at publication from the whole Deployment. */
  readonly runtimeMcp?: RuntimeMcpPolicy
  /** How long a Session stays open with nothing to do; `null`: until it is closed. */
  readonly closeAfterIdle?: Duration | null
  /** Runs once in each Session process, before its first Turn. */
  init?(ctx: InitContext): InitResult | Promise<InitResult>
  /**
   * Runs once for each Turn, one at a time. What it returns is the Turn's machine result; nothing becomes `null`.
   * Throwing fails the Turn and keeps the Session open.
   */
  turn(turn: Turn, ctx: AgentContext<InitResult>): Result | Promise<Result>
}

export interface Agent<InitResult = unknown, Result = unknown> extends AgentSpec<InitResult, Result> {
  readonly [definition]: "agent"
}

/** Judges nothing: publication does, and names the field that is wrong. */
export const agent = <InitResult = undefined, Result = unknown>(
  spec: AgentSpec<InitResult, Result & JsonCompatible<Result>>,
): Agent<InitResult, Result> => Object.freeze({ ...spec, [definition]: "agent" as const })
