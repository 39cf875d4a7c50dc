/** Renews the lease of one connection, and notices a connection that no longer answers. */
import type { RequestId } from "@computerd/protocol/ids"
import type { Lease as Grant } from "@computerd/protocol/link"
import type { Cancel, Ports } from "../ports.ts"
import type { UnfencedFrame } from "./dial.ts"

/** A renewal that is not answered in this time tells that the connection is dead, half-open ones included. */
export const renewalAnswerMs = 10_000
/** A timer that is later than this fired after a pause of this process: the answer may be waiting unread. */
const pauseMs = 1_000

export interface Renewal {
  /** Answers with the monotonic time at which that renewal was asked for. */
  readonly answered: (requestId: RequestId, grant: Grant) => number | undefined
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

  const awaitAnswer = (): void => {
    const dueMs = clock.monotonicMs() + renewalAnswerMs
    stopAnswerTimer = timers.after(renewalAnswerMs, () => {
      if (clock.monotonicMs() - dueMs > pauseMs) return awaitAnswer()
      overdue(`a renewal was not answered within ${renewalAnswerMs} ms`)
    })
  }

  const ask = (): void => {
    asked = { requestId: ports.newId("req"), atMs: clock.monotonicMs() }
    if (send({ kind: "renew", requestId: asked.requestId })) awaitAnswer()
  }

  const schedule = (delayMs: number): void => {
    stopRenewTimer = timers.after(delayMs, ask)
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
    stop: () => {
      stopAnswerTimer()
      stopRenewTimer()
    },
  }
}
