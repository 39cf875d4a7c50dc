/** Keeps a supervisor's output file bounded while the supervisor writes to it: its end is kept, the file restarts. */
import { open, stat, truncate } from "node:fs/promises"
import { writeDurably } from "../../durable.ts"

const logMaxBytes = 8 * 1024 * 1024
const logKeptBytes = 1024 * 1024

export const boundLog = async (log: string, maxBytes = logMaxBytes): Promise<void> => {
  const entry = await stat(log).catch(() => undefined)
  if (entry === undefined || entry.size <= maxBytes) return
  const file = await open(log, "r")
  try {
    const kept = Math.min(logKeptBytes, maxBytes)
    const { buffer, bytesRead } = await file.read(Buffer.alloc(kept), 0, kept, entry.size - kept)
    await writeDurably(`${log}.1`, buffer.toString("utf8", 0, bytesRead))
  } finally {
    await file.close()
  }
  // The writer appends, so it goes on at the new end.
  await truncate(log, 0)
}
