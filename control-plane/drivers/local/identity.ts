/** A process is the same one only if pid, start time and boot id agree; a zombie is not alive. */
import { readFile } from "node:fs/promises"
import { z } from "zod"

export const ProcessIdentity = z.strictObject({
  pid: z.int().min(2),
  /** Clock ticks since boot, from /proc. */
  startTime: z.string(),
  bootId: z.string(),
})
export type ProcessIdentity = Readonly<z.infer<typeof ProcessIdentity>>

const read = async (path: string): Promise<string | undefined> => {
  try {
    return await readFile(path, "utf8")
  } catch {
    return undefined
  }
}

export const readBootId = async (): Promise<string> =>
  ((await read("/proc/sys/kernel/random/boot_id")) ?? "unknown").trim()

/** Start time of a living process. The name in the line may hold spaces and parentheses, so it is cut off first. */
export const startTimeOf = async (pid: number): Promise<string | undefined> => {
  const stat = await read(`/proc/${pid}/stat`)
  const fields = stat?.slice(stat.lastIndexOf(")") + 2).split(" ")
  const [state] = fields ?? []
  return state === undefined || state === "Z" || state === "X" ? undefined : fields?.[19]
}

export const identityOf = async (pid: number): Promise<ProcessIdentity | undefined> => {
  const startTime = await startTimeOf(pid)
  return startTime === undefined ? undefined : { pid, startTime, bootId: await readBootId() }
}

export const isAlive = async (identity: ProcessIdentity): Promise<boolean> =>
  identity.bootId === (await readBootId()) && (await startTimeOf(identity.pid)) === identity.startTime

/** The identity is checked right before the signal, so that a reused pid is not hit. */
export const signalProcess = async (
  identity: ProcessIdentity,
  signal: "SIGTERM" | "SIGKILL" | "SIGSTOP" | "SIGCONT",
): Promise<boolean> => {
  if (!(await isAlive(identity))) return false
  try {
    process.kill(identity.pid, signal)
    return true
  } catch {
    return false
  }
}
