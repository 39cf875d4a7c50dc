/** A bounded wait from outside for the end of a Turn. */
import type { WaitedTurn } from "@computerd/protocol/api/turns"
import { fail, ok, type Result } from "@computerd/protocol/errors"
import type { EnvironmentKey } from "@computerd/protocol/ids"
import { turnIn } from "../../rules/outside/reach.ts"
import { resultView } from "../../rules/outside/views.ts"
import type { Parts } from "../parts.ts"
import { looker } from "./look.ts"
import type { TurnPath } from "./work.ts"

export interface WaitAsked extends TurnPath {
  readonly timeoutMs: number
}

export type WaitFromOutside = (
  environment: EnvironmentKey,
  asked: WaitAsked,
  signal: AbortSignal,
) => Promise<Result<WaitedTurn>>

export const waitFromOutside = (parts: Parts): WaitFromOutside => {
  const look = looker(parts)
  const now = (environment: EnvironmentKey, asked: WaitAsked): Result<WaitedTurn> =>
    look(environment, (where) => {
      const found = turnIn(where, asked)
      if (!found.ok) return found
      const outcome = resultView(where.draft, found.value.turn)
      return ok(outcome === undefined ? { status: "timeout" } : { status: "settled", outcome })
    })

  return async (environment, asked, signal) => {
    const deadline = parts.ports.runningMs() + asked.timeoutMs
    for (;;) {
      const seen = now(environment, asked)
      const remaining = deadline - parts.ports.runningMs()
      if (!seen.ok || seen.value.status === "settled" || remaining <= 0) return seen
      const how = await parts.waits.wait(asked.turnId, remaining, signal)
      if (how === "aborted") return fail("admission_unavailable", "the wait was given up; wait again")
      if (how === "closed") return fail("admission_unavailable", "the control plane is stopping; wait again")
      if (how === "timeout") return seen
    }
  }
}
