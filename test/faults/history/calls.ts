/** The history's calls, gathered: every attempt of one caller under one key, and what came of them. */
import type { Json } from "@computerd/protocol/content"
import type { Entry, EntryOf, Outcome } from "./record.ts"

export interface Attempt {
  readonly asked: EntryOf<"asked">
  /** Absent: whoever asked died before an answer came. */
  readonly outcome: Outcome | undefined
}

/** All attempts under one key of one caller. */
export interface KeyedCall {
  readonly caller: string
  readonly key: string
  readonly tool: string
  readonly arguments: Json
  readonly outcomes: readonly Outcome[]
}

export const attempts = (history: readonly Entry[]): readonly Attempt[] => {
  const outcomes = new Map<string, Outcome>()
  for (const entry of history) if (entry.kind === "outcome") outcomes.set(entry.call, entry.outcome)
  return history.flatMap((entry) =>
    entry.kind === "asked" ? [{ asked: entry, outcome: outcomes.get(entry.call) }] : [],
  )
}

const nameOf = (caller: string, key: string): string => `${caller} ${key}`

export const keyedCalls = (history: readonly Entry[]): ReadonlyMap<string, KeyedCall> => {
  const calls = new Map<string, KeyedCall>()
  for (const { asked, outcome } of attempts(history)) {
    const { caller, key, tool } = asked
    if (key === null) continue
    const name = nameOf(caller, key)
    const known = calls.get(name) ?? { caller, key, tool, arguments: asked.arguments, outcomes: [] }
    const outcomes = outcome === undefined ? known.outcomes : [...known.outcomes, outcome]
    calls.set(name, { ...known, outcomes })
  }
  return calls
}

export const callOf = (
  calls: ReadonlyMap<string, KeyedCall>,
  { caller, key }: { readonly caller: string; readonly key: string },
): KeyedCall | undefined => calls.get(nameOf(caller, key))

export const answersOf = ({ outcomes }: KeyedCall): readonly Json[] =>
  outcomes.flatMap((outcome) => (outcome.kind === "answered" ? [outcome.value] : []))

export const isRefused = (call: KeyedCall): boolean =>
  answersOf(call).length === 0 && call.outcomes.some(({ kind }) => kind === "refused")

/** A field of an answer, where it has one. */
export const textOf = (value: Json, field: string): string | undefined => {
  if (value === null || typeof value !== "object" || Array.isArray(value)) return undefined
  const found = (value as Readonly<Record<string, Json>>)[field]
  return typeof found === "string" ? found : undefined
}
