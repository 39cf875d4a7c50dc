/**
 * Why a supervisor ended, from the end of its output. A line of its log is no reason, but for the message of an error;
 * its fields are never shown.
 */
import { open, stat } from "node:fs/promises"
import { z } from "zod"

const LogLine = z.object({ level: z.number(), message: z.string().optional() })

/** Of the log's numbered levels. */
const errorLevel = 50
const tailBytes = 4096
const wordsMaxLength = 300

const reasonIn = (line: string): string | undefined => {
  if (!line.startsWith("{")) return line
  try {
    const entry = LogLine.safeParse(JSON.parse(line))
    return entry.success && entry.data.level >= errorLevel ? entry.data.message : undefined
  } catch {
    return undefined
  }
}

/** `signal`: nothing announces that end, so what was said some time before it is no reason. */
export const reasonOf = (output: string, end: "code" | "signal"): string => {
  const lines = output.split("\n").filter((line) => line.trim() !== "")
  const looked = end === "signal" ? lines.slice(-1) : lines
  const reason = looked.map(reasonIn).findLast((found) => found !== undefined)
  return (reason ?? "").replace(/\p{Cc}+/gu, " ").slice(0, wordsMaxLength)
}

const tailOf = async (log: string, from: number): Promise<string> => {
  const { size } = await stat(log)
  const start = Math.max(from, size - tailBytes)
  if (size <= start) return ""
  const file = await open(log, "r")
  try {
    const { buffer, bytesRead } = await file.read(Buffer.alloc(size - start), 0, size - start, start)
    const text = buffer.toString("utf8", 0, bytesRead)
    // It begins in the middle of a line.
    return start === from ? text : text.slice(text.indexOf("\n") + 1)
  } finally {
    await file.close()
  }
}

/** The reason that was written since `from`; nothing when there is none. */
export const lastWords = async (log: string, from: number, end: "code" | "signal"): Promise<string> => {
  try {
    return reasonOf(await tailOf(log, from), end)
  } catch {
    return ""
  }
}
