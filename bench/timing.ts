/** What the benchmarks time by, and how they tell it. */

export const quantile = (values: readonly number[], share: number): number => {
  const sorted = [...values].sort((left, right) => left - right)
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN
}

export interface Slice {
  /** A second. */
  readonly rate: number
  /** Milliseconds. */
  readonly p99: number
}

export interface SliceRequest {
  readonly lengthMs: number
  readonly atOnce: number
}

/** Repeats the operation for a while, so many at once. */
export const timed = async (
  { lengthMs, atOnce }: SliceRequest,
  operation: () => Promise<unknown>,
): Promise<Slice> => {
  const times: number[] = []
  const start = performance.now()
  const work = async (): Promise<void> => {
    while (performance.now() - start < lengthMs) {
      const before = performance.now()
      await operation()
      times.push(performance.now() - before)
    }
  }
  await Promise.all(Array.from({ length: atOnce }, work))
  return { rate: (times.length * 1000) / (performance.now() - start), p99: quantile(times, 0.99) }
}
