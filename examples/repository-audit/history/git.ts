/**
 * Runs git on the workspace's own repository and on nothing else.
 *
 * The repository is somebody's input: no hook, monitor, filter or pager that it configures is run, nothing is fetched,
 * nothing is written, and settings of this machine or user do not change the answer.
 */
import { spawn } from "node:child_process"
import { once } from "node:events"
import { join } from "node:path"

export type GitRun =
  | { readonly kind: "ran"; readonly ok: boolean }
  /** There is no git here. */
  | { readonly kind: "absent" }

export interface GitCommand {
  readonly workspace: string
  readonly arguments: readonly string[]
  /** What ends each record of its output: NUL unless said otherwise. */
  readonly recordEnd?: "line_feed"
  /** Written to its standard input. */
  readonly input?: string
  readonly signal: AbortSignal
}

const settings = [
  "core.fsmonitor=false",
  "core.hooksPath=/dev/null",
  "core.excludesFile=/dev/null",
  "core.untrackedCache=false",
  "protocol.allow=never",
].flatMap((setting) => ["-c", setting])

const environment = (workspace: string): NodeJS.ProcessEnv => ({
  PATH: process.env["PATH"],
  LC_ALL: "C",
  GIT_DIR: join(workspace, ".git"),
  GIT_WORK_TREE: workspace,
  GIT_CONFIG_NOSYSTEM: "1",
  GIT_CONFIG_GLOBAL: "/dev/null",
  GIT_ATTR_NOSYSTEM: "1",
  GIT_OPTIONAL_LOCKS: "0",
  GIT_NO_LAZY_FETCH: "1",
  GIT_TERMINAL_PROMPT: "0",
})

/** Splits a stream; every record but an unended last one is handed over. */
const records = (end: number, take: (record: string) => void): ((chunk: Buffer) => void) => {
  let rest: Buffer[] = []
  return (chunk) => {
    let from = 0
    for (let at = chunk.indexOf(end); at !== -1; at = chunk.indexOf(end, from)) {
      take(Buffer.concat([...rest, chunk.subarray(from, at)]).toString("utf8"))
      rest = []
      from = at + 1
    }
    if (from < chunk.length) rest.push(Buffer.from(chunk.subarray(from)))
  }
}

export const runGit = async (command: GitCommand, take: (record: string) => void): Promise<GitRun> => {
  const child = spawn("git", [...settings, ...command.arguments], {
    cwd: command.workspace,
    env: environment(command.workspace),
    stdio: ["pipe", "pipe", "ignore"],
    signal: command.signal,
  })
  child.stdout.on("data", records(command.recordEnd === "line_feed" ? 10 : 0, take))
  // A command that ends before it has read everything is judged by its exit code.
  child.stdin.on("error", () => undefined)
  child.stdin.end(command.input ?? "")
  try {
    const [code] = await once(child, "close")
    return { kind: "ran", ok: code === 0 }
  } catch (error) {
    command.signal.throwIfAborted()
    if (error instanceof Error && "code" in error && error.code === "ENOENT") return { kind: "absent" }
    throw error
  }
}

/** The records of one command, or nothing when git is absent or refuses. */
export const gitRecords = async (command: GitCommand): Promise<readonly string[] | undefined> => {
  const found: string[] = []
  const run = await runGit(command, (record) => found.push(record))
  return run.kind === "ran" && run.ok ? found : undefined
}

/** Exactly the files of one top-level folder; of `.`, those that are in no folder. */
export const pathspec = (folder: string): string =>
  folder === "." ? ":(top,glob)*" : `:(top,literal)${folder}/`
