/** A small generator with a seed (mulberry32), so that what was drawn can be drawn again. */
export interface Random {
  /** In [0, 1). */
  readonly next: () => number
  readonly between: (low: number, high: number) => number
  readonly pick: <Value>(values: readonly Value[]) => Value | undefined
}

export const seeded = (seed: number): Random => {
  let state = seed >>> 0
  const next = (): number => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
  return {
    next,
    between: (low, high) => Math.floor(low + next() * (high - low)),
    pick: (values) => values[Math.floor(next() * values.length)],
  }
}
