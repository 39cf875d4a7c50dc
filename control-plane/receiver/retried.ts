/**
 * Reports that nobody would repeat: each is stored, in the order of the calls, and tried again for as long as the store
 * cannot take it.
 */
import type { Result } from "@computerd/protocol/errors"
import type { CancelTimer, Ports } from "../ports.ts"

export interface Retried {
  /** `store` answers `admission_unavailable` while it cannot. */
  readonly persist: (store: () => Result<void>) => void
  /** Tries what still waits once more. */
  readonly drain: () => void
  readonly close: () => void
}

const retryMs = 1_000

export const createRetried = (ports: Pick<Ports, "after">): Retried => {
  const waiting: (() => Result<void>)[] = []
  let timer: CancelTimer | undefined
  let phase: "resting" | "draining" | "closed" = "resting"

  const isStored = (store: () => Result<void>): boolean => {
    const stored = store()
    return stored.ok || stored.error.code !== "admission_unavailable"
  }

  const drainAll = (): void => {
    for (let next = waiting[0]; next !== undefined; next = waiting[0]) {
      if (!isStored(next)) {
        timer ??= ports.after(retryMs, retry)
        return
      }
      waiting.shift()
    }
  }

  /** Whoever hears of one report may bring the next: it takes its place behind, and the drain under way comes to it. */
  const drain = (): void => {
    if (phase !== "resting") return
    phase = "draining"
    try {
      drainAll()
    } finally {
      if (phase === "draining") phase = "resting"
    }
  }

  const retry = (): void => {
    timer = undefined
    drain()
  }

  return {
    persist: (store) => {
      waiting.push(store)
      if (timer === undefined) drain()
    },
    drain,
    close: () => {
      phase = "closed"
      timer?.()
    },
  }
}
