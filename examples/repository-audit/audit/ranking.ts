/** The highest of many, whatever the order in which they come: by count, then by path in code-unit order. */

export interface Ranked {
  readonly path: string
  readonly count: number
}

export interface Ranking {
  readonly add: (entry: Ranked) => void
  readonly top: () => readonly Ranked[]
}

export const byCodeUnit = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0)

const byRank = (a: Ranked, b: Ranked): number => b.count - a.count || byCodeUnit(a.path, b.path)

/** Keeps `size` entries; those that count nothing are left out. */
export const ranking = (size: number): Ranking => {
  let kept: Ranked[] = []
  const trim = (): void => {
    kept = kept.sort(byRank).slice(0, size)
  }
  return {
    add: (entry) => {
      if (entry.count <= 0) return
      kept.push(entry)
      // Sorting now and then keeps an addition cheap and the list short.
      if (kept.length >= size * 4 + 16) trim()
    },
    top: () => {
      trim()
      return [...kept]
    },
  }
}

/** The highest of several lists that were ranked apart. */
export const mergeRanked = (lists: readonly (readonly Ranked[])[], size: number): readonly Ranked[] =>
  lists.flat().sort(byRank).slice(0, size)
