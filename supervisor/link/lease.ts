/**
 * The lease: the control plane's grant that this supervisor owns its Computer. It is counted from the moment it was asked
 * for, so that it ends here no later than there, in time that goes on while this process is stopped or its machine is
 * suspended: the control plane counts on too.
 *
 * L1 without a lease no MCP request is served, nothing is dispatched and no Session process runs
 * L2 a lease that has ended is only replaced by a grant; no clock leap brings it back
 * L3 that of an earlier supervisor of this boot lets its processes run until it ends, and lets nothing be served
 */
import type { Epoch } from "@computerd/protocol/ids"
import type { Lease as Grant } from "@computerd/protocol/link"
import type { Cancel, Clock, Timers } from "../ports.ts"

export type LeaseState =
  | { readonly state: "none" }
  | { readonly state: "held"; readonly epoch: Epoch; readonly remainingMs: number }
  | { readonly state: "lapsed"; readonly epoch: Epoch }

/** `untilMs` is a time of `elapsedMs`, which all processes of a boot share. */
export interface Term {
  readonly epoch: Epoch
  readonly untilMs: number
}

export interface Lease {
  readonly state: () => LeaseState
  /** `askedAtMs` is the time of `elapsedMs` at which the grant was asked for. */
  readonly grant: (grant: Grant, askedAtMs: number) => void
  /** True at once when held, else when it is granted within `limitMs`; false when not, or when it has ended for good. */
  readonly held: (limitMs: number) => Promise<boolean>
  /** Time has passed that no timer has counted. */
  readonly look: () => void
  /** For good: superseded, refused or detached. */
  readonly end: () => void
}

export interface LeaseDeps {
  readonly clock: Pick<Clock, "elapsedMs">
  readonly timers: Timers
  /** Of those who wait for a lease, who may be frozen meanwhile. */
  readonly waits?: Timers
  readonly changed: (state: LeaseState) => void
  /** Of an earlier supervisor (L3). */
  readonly inherited?: Term | undefined
  /** A grant was taken; the next supervisor is to know how long it lasts. */
  readonly remember?: (term: Term) => void
}

type Phase =
  | { readonly phase: "none" }
  | { readonly phase: "inherited" | "held"; readonly term: Term; readonly timer: Cancel }
  | { readonly phase: "lapsed"; readonly epoch: Epoch }
  | { readonly phase: "ended" }

export const createLease = ({
  clock,
  timers,
  waits = timers,
  changed,
  inherited,
  remember,
}: LeaseDeps): Lease => {
  let phase: Phase = { phase: "none" }
  let told: LeaseState["state"] = "none"
  const waiting = new Set<(held: boolean) => void>()

  const remainingMs = ({ untilMs }: Term): number => Math.floor(untilMs - clock.elapsedMs())

  const state = (): LeaseState => {
    switch (phase.phase) {
      case "none":
      case "ended":
        return { state: "none" }
      case "lapsed":
        return { state: "lapsed", epoch: phase.epoch }
      case "inherited":
      case "held": {
        const { epoch } = phase.term
        const leftMs = remainingMs(phase.term)
        // A timer may be late, after a pause of the whole process for one; the clock decides.
        if (leftMs <= 0) return { state: "lapsed", epoch }
        return phase.phase === "held" ? { state: "held", epoch, remainingMs: leftMs } : { state: "none" }
      }
    }
  }

  const settleWaiting = (held: boolean): void => {
    for (const settle of [...waiting]) settle(held)
  }

  const tell = (): void => {
    const now = state()
    if (now.state === told) return
    told = now.state
    changed(now)
  }

  const enter = (next: Phase): void => {
    if (phase.phase === "inherited" || phase.phase === "held") phase.timer()
    phase = next
    tell()
    if (state().state === "held") settleWaiting(true)
  }

  const look = (): void => {
    if (phase.phase !== "inherited" && phase.phase !== "held") return
    const { term } = phase
    // After a pause the timer has more left than the lease.
    if (remainingMs(term) > 0) enter(counting(phase.phase, term))
    else enter({ phase: "lapsed", epoch: term.epoch })
  }

  const counting = (kind: "inherited" | "held", term: Term): Phase => ({
    phase: kind,
    term,
    timer: timers.after(Math.ceil(term.untilMs - clock.elapsedMs()), look),
  })

  // Nobody is told of its end before whoever made this has it.
  if (inherited !== undefined) phase = counting("inherited", inherited)

  return {
    state,
    grant: ({ epoch, leaseMs }, askedAtMs) => {
      if (phase.phase === "ended") return
      // A lapse that no timer has told yet is told, so that the grant is news to whoever was refused meanwhile.
      look()
      const term = { epoch, untilMs: askedAtMs + leaseMs }
      remember?.(term)
      enter(counting("held", term))
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
        const cancel = waits.after(limitMs, () => settle(false))
        waiting.add(settle)
      })
    },
    look,
    end: () => {
      enter({ phase: "ended" })
      settleWaiting(false)
    },
  }
}
