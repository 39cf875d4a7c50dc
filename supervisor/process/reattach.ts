/**
 * Whether a process of an earlier supervisor is taken over. Pure.
 *
 * RA1 the very process must live: pid, start time and boot id agree
 * RA2 it must be able to come back: its channel is bound where it looks for it
 * RA3 what is not taken over is replaced, and why is kept; how it ended is told only by who saw it
 */
import type { ExitReason } from "@computerd/protocol/link"

export interface InheritedFacts {
  /** `unknown`: its supervisor died before it could write its pid down. */
  readonly process: "lives" | "gone" | "unknown"
  readonly boot: "same" | "another"
  /** The port of the channel at which the process was told to connect, and the one that could be bound. */
  readonly port: { readonly told: number | undefined; readonly bound: number }
  /** The stop that was under way, or how the process ended as somebody saw it. */
  readonly known: ExitReason | undefined
}

export type Inheritance =
  | { readonly do: "adopt" }
  | {
      readonly do: "replace"
      readonly reason: ExitReason
      readonly blame: "program" | "surroundings"
    }

const replace = (blame: "program" | "surroundings", reason: ExitReason): Inheritance => ({
  do: "replace",
  reason,
  blame,
})

const unknown = (message: string): ExitReason => ({ kind: "unknown", message })

export const inheritance = ({ process, boot, port, known }: InheritedFacts): Inheritance => {
  if (boot === "another") return replace("surroundings", unknown("the machine was started anew"))
  if (process === "unknown")
    return replace("surroundings", unknown("its supervisor ended before its start was on record"))
  if (process === "gone")
    return replace("program", known ?? unknown("it ended while no supervisor was there to see how"))
  if (port.told === port.bound) return { do: "adopt" }
  const message = `port ${port.told ?? "unknown"} of its channel was taken meanwhile`
  return replace("surroundings", { kind: "not_reattached", message })
}
