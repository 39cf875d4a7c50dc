/** What is written down while faults are tried. All writers append to one file: a line's place is its time. */
import type { Json } from "@computerd/protocol/content"

/** `unknown`: no answer, or one that says nothing of what was done. */
export type Outcome =
  | { readonly kind: "answered"; readonly value: Json }
  | { readonly kind: "refused"; readonly code: string }
  | { readonly kind: "unknown"; readonly why: string }

/** One process of a Session, by a name that it gave itself. */
interface Instance {
  readonly session: string
  readonly instance: string
}

export type Entry =
  /** Every attempt at a call is asked and has an outcome. `caller`: as receipts name it. */
  | {
      readonly kind: "asked"
      readonly call: string
      readonly caller: string
      readonly tool: string
      readonly key: string | null
      readonly arguments: Json
    }
  | { readonly kind: "outcome"; readonly call: string; readonly outcome: Outcome }
  | ({
      readonly kind: "initialised"
      readonly computer: string
      readonly pid: number
      readonly url: string
      readonly authorization: string
    } & Instance)
  | ({ readonly kind: "began"; readonly turn: string; readonly token: string } & Instance)
  | ({ readonly kind: "ended"; readonly turn: string; readonly token: string } & Instance)
  /** A call with the header of a process that has been replaced; no status: nobody listened. */
  | ({ readonly kind: "probed"; readonly key: string; readonly status: number | null } & Instance)
  | { readonly kind: "fault"; readonly fault: string; readonly target: string }
  | { readonly kind: "healing" }
  | { readonly kind: "healed"; readonly afterMs: number; readonly left: readonly string[] }

export type EntryOf<Kind extends Entry["kind"]> = Extract<Entry, { readonly kind: Kind }>

export const ofKind = <Kind extends Entry["kind"]>(
  history: readonly Entry[],
  kind: Kind,
): readonly EntryOf<Kind>[] => history.filter((entry): entry is EntryOf<Kind> => entry.kind === kind)

/** What the control plane's store says at the end. */
export interface FinalState {
  readonly receipts: readonly Receipt[]
  readonly sessions: readonly Session[]
  readonly turns: readonly Turn[]
  readonly holds: readonly Hold[]
}

export interface Receipt {
  readonly caller: string
  readonly key: string
  readonly tool: string
  readonly answer: Json
}

export interface Session {
  readonly id: string
  readonly parent: string | null
  readonly status: string
}

export interface Turn {
  readonly id: string
  readonly session: string
  readonly status: string
  readonly createdAt: number
  readonly startedAt: number | null
  readonly settledAt: number | null
  /** Of the call that asked for it, as its input says. */
  readonly caller: string
  readonly key: string
  /** What its handler returned. */
  readonly token: string | null
}

export interface Hold {
  readonly id: string
  readonly session: string
  readonly kind: string
  readonly placedBy: string | null
  readonly createdAt: number
  readonly releasedAt: number | null
}

export const isSettled = ({ status }: Pick<Turn, "status">): boolean =>
  status !== "queued" && status !== "running"
