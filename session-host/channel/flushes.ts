/** Those who wait until everything that was sent has arrived. */
import type { Ports } from "../ports.ts"

export interface Flushes {
  /** Resolves with what `settle` is told, or false after `ms`. */
  readonly wait: (ms: number) => Promise<boolean>
  readonly settle: (arrived: boolean) => void
}

export const createFlushes = (ports: Ports): Flushes => {
  const waiting = new Set<(arrived: boolean) => void>()
  return {
    wait: (ms) =>
      new Promise((resolve) => {
        const finish = (arrived: boolean): void => {
          stop()
          waiting.delete(finish)
          resolve(arrived)
        }
        const stop = ports.after(ms, () => finish(false))
        waiting.add(finish)
      }),
    settle: (arrived) => {
      for (const finish of [...waiting]) finish(arrived)
    },
  }
}
