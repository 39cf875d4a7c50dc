/**
 * Commands that supervisors have applied. They are forgotten with the next commit, whatever it is for, or after a
 * moment: until then only disk space waits, and what a crash forgets of them the next attach makes void.
 */
import type { ComputerId } from "@computerd/protocol/ids"
import type { CancelTimer, Ports } from "../ports.ts"
import type { Store } from "../store/open.ts"

export interface Acknowledged {
  readonly note: (computer: ComputerId, seq: number) => void
  /** Runs `work` in a transaction that also forgets what was noted. */
  readonly transaction: <Value>(work: () => Value) => Value
  readonly flush: () => void
  readonly close: () => void
}

export interface AcknowledgedDeps {
  readonly store: Store
  readonly ports: Ports
}

const waitMs = 250

export const createAcknowledged = ({ store, ports }: AcknowledgedDeps): Acknowledged => {
  const noted = new Map<ComputerId, number>()
  let timer: CancelTimer | undefined

  const write = (): void => {
    if (noted.size === 0) return
    for (const [computer, seq] of noted) {
      store.tables.links.dropCommands(computer, seq)
      store.tables.computers.acknowledge(computer, seq)
    }
    ports.reach("command.before_forgetting")
  }

  const transaction = <Value>(work: () => Value): Value => {
    const value = store.transaction(() => {
      write()
      return work()
    })
    if (noted.size > 0) ports.reach("command.after_forgetting")
    noted.clear()
    return value
  }

  const later = (): void => {
    timer ??= ports.after(waitMs, flush)
  }

  const flush = (): void => {
    timer?.()
    timer = undefined
    if (noted.size === 0) return
    try {
      transaction(() => undefined)
    } catch (error) {
      const message = error instanceof Error ? error.message : String(error)
      ports.journal.record({ type: "store_failed", operation: "acknowledge", message })
      later()
    }
  }

  return {
    note: (computer, seq) => {
      noted.set(computer, Math.max(seq, noted.get(computer) ?? 0))
      later()
    },
    transaction,
    flush,
    close: () => timer?.(),
  }
}
