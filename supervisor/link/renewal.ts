/** Renews the lease of one connection, and notices a connection that no longer answers. */
import type { RequestId } from "@computerd/protocol/ids"
import type { Lease as Grant } from "@computerd/protocol/link"
import type { Cancel, Ports } from "../ports.ts"
import type { UnfencedFrame } from "./dial.ts"

/** A renewal that is not answered in this time tells that the connection is dead, half-open ones included. */
export const renewalAnswerMs = 10_000
/** After a pause the connection may be dead without a sign; a living one answers in a fraction of this. */
export const probeAnswerMs = 3_000

export interface Renewal {
  /** Answers with the time of `elapsedMs` at which that renewal was asked for. */
  readonly answered: (requestId: RequestId, grant: Grant) => number | undefined
  /** Asks at once, and waits less long: whether the connection still lives is in doubt. */
  readonly probe: () => void
  readonly stop: () => void
}

export interface RenewalDeps {
  readonly ports: Ports
  readonly renewMs: number
  readonly send: (frame: UnfencedFrame) => boolean
  readonly overdue: (detail: string) => void
}

export const createRenewal = ({ ports, renewMs, send, overdue }: RenewalDeps): Renewal => {
  const { clock, timers } = ports
  let asked: { readonly requestId: RequestId; readonly atMs: number } | undefined
  let stopAnswerTimer: Cancel = () => undefined
  let stopRenewTimer: Cancel = () => undefined

  const ask = (answerMs: number): void => {
    stopAnswerTimer()
    asked = { requestId: ports.newId("req"), atMs: clock.elapsedMs() }
    if (!send({ kind: "renew", requestId: asked.requestId })) return
    stopAnswerTimer = timers.after(answerMs, () =>
      overdue(`a renewal was not answered within ${answerMs} ms`),
    )
  }

  const schedule = (delayMs: number): void => {
    stopRenewTimer = timers.after(delayMs, () => ask(renewalAnswerMs))
  }

  schedule(renewMs)
  return {
    answered: (requestId, grant) => {
      if (asked?.requestId !== requestId) return undefined
      const { atMs } = asked
      asked = undefined
      stopAnswerTimer()
      schedule(grant.renewMs)
      return atMs
    },
    probe: () => {
      stopRenewTimer()
      ask(probeAnswerMs)
    },
    stop: () => {
      stopAnswerTimer()
      stopRenewTimer()
    },
  }
}
