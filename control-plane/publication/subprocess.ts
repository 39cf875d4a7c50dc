/**
 * One short-lived program with a clean environment: it gets a deadline, its output is bounded, and nothing that it
 * started in its process group outlives it.
 */
import type { Environment } from "../environment.ts"
import type { Ports } from "../ports.ts"

export interface SubprocessRequest {
  readonly command: readonly string[]
  readonly cwd: string
  readonly environment: Environment
  readonly timeoutMs: number
  /** Written to its standard input, which is then closed. */
  readonly input?: string
  /** Kills it, and all that it started in its process group. */
  readonly signal?: AbortSignal | undefined
}

export type SubprocessOutcome =
  | { readonly kind: "exited"; readonly code: number; readonly stdout: Uint8Array; readonly stderr: string }
  | { readonly kind: "signalled"; readonly signal: string; readonly stderr: string }
  | { readonly kind: "timeout"; readonly stderr: string }
  | { readonly kind: "not_started"; readonly message: string }

const stdoutMaxBytes = 64 * 1024 * 1024
const stderrMaxBytes = 16 * 1024
/** A grandchild that keeps a pipe open must not keep us. */
const drainMs = 500

/** Reads until the end or the limit, and goes on reading without keeping, so that the writer never blocks. */
const collect = async (
  stream: ReadableStream<Uint8Array>,
  max: number,
  into: Uint8Array[],
): Promise<void> => {
  let size = 0
  for await (const chunk of stream) {
    if (size < max) into.push(chunk.subarray(0, max - size))
    size += chunk.length
  }
}

const killGroup = (pid: number): void => {
  try {
    process.kill(-pid, "SIGKILL")
  } catch {
    // The group is gone already.
  }
}

const spawn = (request: SubprocessRequest) =>
  Bun.spawn([...request.command], {
    cwd: request.cwd,
    env: { ...request.environment },
    stdin: request.input === undefined ? "ignore" : new TextEncoder().encode(request.input),
    stdout: "pipe",
    stderr: "pipe",
    detached: true,
  })

export const runSubprocess = async (
  request: SubprocessRequest,
  ports: Pick<Ports, "after">,
): Promise<SubprocessOutcome> => {
  let child: ReturnType<typeof spawn>
  try {
    child = spawn(request)
  } catch (error) {
    return { kind: "not_started", message: error instanceof Error ? error.message : "cannot be started" }
  }
  const out: Uint8Array[] = []
  const err: Uint8Array[] = []
  const drained = Promise.allSettled([
    collect(child.stdout, stdoutMaxBytes, out),
    collect(child.stderr, stderrMaxBytes, err),
  ])
  let late = false
  const cancelDeadline = ports.after(request.timeoutMs, () => {
    late = true
    killGroup(child.pid)
  })
  const kill = (): void => killGroup(child.pid)
  if (request.signal?.aborted === true) kill()
  request.signal?.addEventListener("abort", kill)
  const code = await child.exited
  request.signal?.removeEventListener("abort", kill)
  cancelDeadline()
  killGroup(child.pid)
  await Promise.race([drained, new Promise<void>((resolve) => ports.after(drainMs, resolve))])
  const stderr = Buffer.concat(err).toString("utf8")
  if (late) return { kind: "timeout", stderr }
  if (child.signalCode !== null) return { kind: "signalled", signal: String(child.signalCode), stderr }
  return { kind: "exited", code, stdout: Buffer.concat(out), stderr }
}

/** The last words of a program that failed, on one line and without control characters. */
export const lastWords = (stderr: string): string => {
  const lines = stderr.split("\n").filter((line) => line.trim() !== "")
  return (lines.findLast((line) => /error/i.test(line)) ?? lines.at(-1) ?? "no message")
    .slice(0, 300)
    .replace(/\p{Cc}/gu, " ")
    .trim()
}
