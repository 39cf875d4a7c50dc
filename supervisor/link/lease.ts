/**
 * The lease: the control plane's grant that this supervisor owns its Computer, measured on the monotonic clock from
 * the moment it was asked for, so that it ends here no later than there.
 *
 * L1 without a lease no MCP request is served and nothing is dispatched
 * L2 a lease that has ended is only replaced by a grant; no clock leap brings it back
 */
import type { Epoch } from "@computerd/protocol/ids"
import type { Lease as Grant } from "@computerd/protocol/link"
import type { Cancel, Clock, Timers } from "../ports.ts"

export type LeaseState =
  | { readonly state: "none" }
  | { readonly state: "held"; readonly epoch: Epoch; readonly remainingMs: number }
  | { readonly state: "lapsed"; readonly epoch: Epoch }

export interface Lease {
  readonly state: () => LeaseState
  /** `askedAtMs` is the monotonic time at which the grant was asked for. */
  readonly grant: (grant: Grant, askedAtMs: number) => void
  /** True at once when held, else when it is granted within `limitMs`; false when not, or when it has ended for good. */
  readonly held: (limitMs: number) => Promise<boolean>
  /** For good: superseded, refused or detached. */
  readonly end: () => void
}

export interface LeaseDeps {
  readonly clock: Clock
  readonly timers: Timers
  readonly changed: (state: LeaseState) => void
}

type Phase =
  | { readonly phase: "none" }
  | { readonly phase: "held"; readonly epoch: Epoch; readonly untilMs: number; readonly timer: Cancel }
  | { readonly phase: "lapsed"; readonly epoch: Epoch }
  | { readonly phase: "ended" }

export const createLease = ({ clock, timers, changed }: LeaseDeps): Lease => {
  let phase: Phase = { phase: "none" }
  const waiting = new Set<(held: boolean) => void>()

  const state = (): LeaseState => {
    if (phase.phase === "none" || phase.phase === "ended") return { state: "none" }
    if (phase.phase === "lapsed") return { state: "lapsed", epoch: phase.epoch }
    const remainingMs = Math.floor(phase.untilMs - clock.monotonicMs())
    // A timer may be late, after a pause of the whole process for one; the clock decides.
    if (remainingMs <= 0) return { state: "lapsed", epoch: phase.epoch }
    return { state: "held", epoch: phase.epoch, remainingMs }
  }

  const settleWaiting = (held: boolean): void => {
    for (const settle of [...waiting]) settle(held)
  }

  const enter = (next: Phase): void => {
    if (phase.phase === "held") phase.timer()
    const before = state().state
    phase = next
    const after = state()
    if (after.state === "held") settleWaiting(true)
    if (after.state !== before) changed(after)
  }

  const lapse = (epoch: Epoch): void => {
    if (phase.phase !== "held") return
    phase.timer()
    phase = { phase: "lapsed", epoch }
    changed(state())
  }

  const hold = (epoch: Epoch, untilMs: number): void =>
    enter({
      phase: "held",
      epoch,
      untilMs,
      timer: timers.after(Math.ceil(untilMs - clock.monotonicMs()), () => lapse(epoch)),
    })

  return {
    state,
    grant: ({ epoch, leaseMs }, askedAtMs) => {
      if (phase.phase !== "ended") hold(epoch, askedAtMs + leaseMs)
    },
    held: (limitMs) => {
      if (state().state === "held") return Promise.resolve(true)
      if (phase.phase === "ended") return Promise.resolve(false)
      return new Promise((resolve) => {
        const settle = (held: boolean): void => {
          cancel()
          waiting.delete(settle)
          resolve(held)
        }
        const cancel = timers.after(limitMs, () => settle(false))
        waiting.add(settle)
      })
    },
    end: () => {
      enter({ phase: "ended" })
      settleWaiting(false)
    },
  }
}
