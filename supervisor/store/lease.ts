/** What the link must remember: the epoch of the last lease, and the last command that was applied. */
import type { Database } from "bun:sqlite"

export interface LeaseTable {
  /** 0 when this store never had a lease. */
  readonly epoch: () => number
  readonly received: () => number
  /** Write it synced: an epoch that was acted under must survive a power cut. */
  readonly setEpoch: (epoch: number) => void
  readonly setReceived: (received: number) => void
}

export const leaseTable = (database: Database): LeaseTable => {
  const read = database.query<{ epoch: number; received: number }, []>("SELECT epoch, received FROM link")
  const epoch = database.query("UPDATE link SET epoch = ?")
  const received = database.query("UPDATE link SET received = ?")
  return {
    epoch: () => read.get()?.epoch ?? 0,
    received: () => read.get()?.received ?? 0,
    setEpoch: (value) => {
      epoch.run(value)
    },
    setReceived: (value) => {
      received.run(value)
    },
  }
}
