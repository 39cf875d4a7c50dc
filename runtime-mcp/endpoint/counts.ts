/** How often each refusal was given; making the response of one is counting it. */
import { type HttpRefusalClass, type RefusalClass, type RpcRefusalClass, refusals } from "./refusals.ts"
import { refusalResponse } from "./responses.ts"

/** Counts the refusal and makes its response. `unread`: more body is coming than is worth draining. */
export type Refuse = (refusal: HttpRefusalClass, rest: "read" | "unread") => Response

export type RefusalCounts = Readonly<Partial<Record<RefusalClass, number>>>

export interface RefusalCounter {
  readonly refuse: Refuse
  /** For a refusal that is the answer of a message. */
  readonly refusedMessage: (refusal: RpcRefusalClass) => void
  readonly counts: () => RefusalCounts
}

export const createRefusalCounter = (): RefusalCounter => {
  const counts = new Map<RefusalClass, number>()
  const count = (refusal: RefusalClass): void => {
    counts.set(refusal, (counts.get(refusal) ?? 0) + 1)
  }
  return {
    refuse: (refusal, rest) => {
      count(refusal)
      return refusalResponse(refusals[refusal], rest)
    },
    refusedMessage: count,
    counts: () => Object.fromEntries(counts),
  }
}
