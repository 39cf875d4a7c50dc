/** Single values that belong to the store file as a whole. */
import type { Database } from "bun:sqlite"

export type MetaKey = "store_id" | "channel_port" | "frozen_since" | "lease_term" | "exit_recorder"

export interface MetaTable {
  readonly get: (key: MetaKey) => string | undefined
  readonly set: (key: MetaKey, value: string) => void
}

export const metaTable = (database: Database): MetaTable => {
  const read = database.query<{ value: string }, [string]>("SELECT value FROM meta WHERE key = ?")
  const write = database.query(
    "INSERT INTO meta (key, value) VALUES (?, ?) ON CONFLICT (key) DO UPDATE SET value = excluded.value",
  )
  return {
    get: (key) => read.get(key)?.value,
    set: (key, value) => {
      write.run(key, value)
    },
  }
}
