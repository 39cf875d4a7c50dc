/** A source of choices that its seed repeats (mulberry32). */
export interface Choices {
  /** From 0 to below `count`. */
  readonly below: (count: number) => number
  readonly oneOf: <Value>(values: readonly [Value, ...Value[]]) => Value
}

export const choicesOf = (seed: number): Choices => {
  let state = seed >>> 0
  const next = (): number => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
  const below = (count: number): number => Math.floor(next() * count)
  return { below, oneOf: (values) => values[below(values.length)] ?? values[0] }
}
