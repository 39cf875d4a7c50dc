/**
 * What is to be done next for one Session, from what is stored and what its process does. Pure.
 *
 * SS1 no process starts and no Turn is given while a hold is effective
 * SS2 a process that is gone is replaced only if it is `wanted` still, and not before its wait is over
 * SS3 no process starts and no Turn is given without the lease of the Computer
 */
import { holding, type ProcessState } from "../process/machine.ts"
import type { SessionRow } from "../store/sessions.ts"

export type Step =
  | { readonly do: "nothing" }
  | { readonly do: "start" }
  | { readonly do: "give_turn" }
  | { readonly do: "end"; readonly graceMs: number }
  /** It has no process any more and is to be forgotten. */
  | { readonly do: "forget" }

export interface StepFacts {
  readonly row: SessionRow
  /** `none`: it has no process. */
  readonly process: ProcessState["kind"] | "none"
  /** Before the next process of a Session that lost some. */
  readonly backoff: "waiting" | "over"
  /** `waiting`: for the lease of its Computer. */
  readonly supervisor: "serving" | "waiting" | "ending"
}

const nothing: Step = { do: "nothing" }

const canStart = ({ row, backoff, supervisor }: StepFacts): boolean =>
  row.wanted &&
  holding(row.assignment.holds).kind === "free" &&
  backoff === "over" &&
  supervisor === "serving"

export const nextStep = (facts: StepFacts): Step => {
  const { row, process, supervisor } = facts
  const isFree = holding(row.assignment.holds).kind === "free"
  switch (process) {
    case "none":
      if (row.ending !== undefined) return { do: "forget" }
      return canStart(facts) ? { do: "start" } : nothing
    case "starting":
    case "running":
      return row.ending === undefined ? nothing : { do: "end", graceMs: row.ending.graceMs }
    case "ready":
      if (row.ending !== undefined) return { do: "end", graceMs: row.ending.graceMs }
      return row.turn?.phase === "waiting" && isFree && supervisor === "serving"
        ? { do: "give_turn" }
        : nothing
    case "stopping":
    case "exited":
      return nothing
    default:
      return process satisfies never
  }
}
