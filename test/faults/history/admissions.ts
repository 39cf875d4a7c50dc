/**
 * What must hold for mutating calls.
 *
 * one receipt   what was answered as admitted has its receipt, and no receipt stands for what nobody asked
 * one effect    an admitted key made exactly what its answer names, once; a refused key made nothing
 * same answer   every answer under one key is the same, and none is followed by a refusal; a refusal keeps nothing, so
 *               what it was for may be admitted later: a Turn that had not started then may run by now
 */
import { isDeepStrictEqual } from "node:util"
import { answersOf, callOf, isRefused, type KeyedCall, keyedCalls, textOf } from "./calls.ts"
import type { Entry, FinalState } from "./record.ts"

const nameOf = ({ caller, key, tool }: KeyedCall): string => `${tool} ${key} of ${caller}`

export const oneReceipt = (history: readonly Entry[], { receipts }: FinalState): readonly string[] => {
  const calls = keyedCalls(history)
  const phantoms = receipts
    .filter((receipt) => callOf(calls, receipt) === undefined)
    .map(({ caller, key, tool }) => `nobody asked for the receipt of ${tool} ${key} of ${caller}`)
  const missing = [...calls.values()].flatMap((call) => {
    const [answer] = answersOf(call)
    const kept = receipts.filter(({ caller, key }) => caller === call.caller && key === call.key)
    if (isRefused(call) && kept.length > 0) return [`${nameOf(call)} was refused and has a receipt`]
    if (answer === undefined) return []
    if (kept.length !== 1) return [`${nameOf(call)} was admitted and has ${kept.length} receipts`]
    return isDeepStrictEqual(kept[0]?.answer, answer)
      ? []
      : [`${nameOf(call)} has another receipt than answer`]
  })
  return [...phantoms, ...missing]
}

export const sameAnswer = (history: readonly Entry[]): readonly string[] =>
  [...keyedCalls(history).values()].flatMap((call) => {
    const [first, ...later] = answersOf(call)
    if (later.some((answer) => !isDeepStrictEqual(answer, first)))
      return [`${nameOf(call)} was answered in different ways`]
    const admittedAt = call.outcomes.findIndex(({ kind }) => kind === "answered")
    const refusedAt = call.outcomes.findLastIndex(({ kind }) => kind === "refused")
    return admittedAt !== -1 && refusedAt > admittedAt ? [`${nameOf(call)} was admitted, then refused`] : []
  })

/** Turns are told apart by the caller and key in their input. */
const turnEffects = (call: KeyedCall, { turns }: FinalState): readonly string[] => {
  const made = turns.filter(({ caller, key }) => caller === call.caller && key === call.key)
  const named = answersOf(call).map((answer) => textOf(answer, "turnId"))
  if (made.length > 1) return [`${nameOf(call)} made ${made.length} Turns`]
  if (isRefused(call) && made.length > 0) return [`${nameOf(call)} was refused and made ${made[0]?.id}`]
  return named[0] === undefined || named[0] === made[0]?.id
    ? []
    : [`${nameOf(call)} answered ${named[0]} and made ${made[0]?.id ?? "nothing"}`]
}

/** Each admitted interrupt placed the one hold that it names. */
const holdEffects = (history: readonly Entry[], { holds }: FinalState): readonly string[] => {
  const interrupts = [...keyedCalls(history).values()].filter(({ tool }) => tool === "interrupt_session")
  const named = interrupts.flatMap((call) =>
    answersOf(call).flatMap((answer) => textOf(answer, "holdId") ?? []),
  )
  const mayHavePlaced = interrupts.filter((call) => !isRefused(call)).length
  const placed = holds.filter(({ kind, placedBy }) => kind === "interrupt" && placedBy !== null)
  const absent = [...new Set(named)].filter((id) => !placed.some((hold) => hold.id === id))
  const surplus =
    placed.length > mayHavePlaced ? [`${mayHavePlaced} interrupts placed ${placed.length} holds`] : []
  return [...absent.map((id) => `the hold ${id} was answered and does not exist`), ...surplus]
}

const creating = new Set(["spawn", "start", "enqueue"])

export const oneEffect = (history: readonly Entry[], state: FinalState): readonly string[] => [
  ...[...keyedCalls(history).values()]
    .filter(({ tool }) => creating.has(tool))
    .flatMap((call) => turnEffects(call, state)),
  ...holdEffects(history, state),
]
