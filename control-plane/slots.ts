/** A bounded number of heavy works at once, so that a burst does not starve what runs already. */
export interface Slots {
  /** Resolves with the function that gives the slot back; rejects when the signal aborts first. */
  readonly take: (signal: AbortSignal) => Promise<() => void>
}

export const createSlots = (count: number): Slots => {
  let free = count
  const waiting: (() => void)[] = []
  const giveBack = (): (() => void) => {
    let given = false
    return () => {
      if (given) return
      given = true
      const next = waiting.shift()
      if (next === undefined) free += 1
      else next()
    }
  }
  return {
    take: (signal) => {
      if (signal.aborted) return Promise.reject(signal.reason)
      if (free > 0) {
        free -= 1
        return Promise.resolve(giveBack())
      }
      return new Promise((resolve, reject) => {
        const leave = (): void => {
          waiting.splice(waiting.indexOf(enter), 1)
          reject(signal.reason)
        }
        const enter = (): void => {
          signal.removeEventListener("abort", leave)
          resolve(giveBack())
        }
        waiting.push(enter)
        signal.addEventListener("abort", leave, { once: true })
      })
    },
  }
}
