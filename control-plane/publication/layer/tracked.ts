/** What git tracks below a directory. Git is asked when there is a repository and a git; else nothing is tracked. */
import { stat } from "node:fs/promises"
import { dirname, join } from "node:path"
import type { Environment } from "../../environment.ts"
import type { Ports } from "../../ports.ts"
import { runSubprocess } from "../subprocess.ts"

export interface TrackedDeps {
  readonly ports: Pick<Ports, "after">
  readonly environment: Environment
  readonly signal?: AbortSignal | undefined
}

export interface Tracked {
  readonly files: ReadonlySet<string>
  /** Every directory that holds a tracked file, at any depth. */
  readonly directories: ReadonlySet<string>
}

const nothing: Tracked = { files: new Set(), directories: new Set() }
const gitTimeoutMs = 60_000

const present = (path: string): Promise<boolean> =>
  stat(path).then(
    () => true,
    () => false,
  )

/** The nearest directory at or above this one that holds `.git`. */
export const repositoryRoot = async (directory: string): Promise<string | undefined> => {
  if (await present(join(directory, ".git"))) return directory
  const parent = dirname(directory)
  return parent === directory ? undefined : repositoryRoot(parent)
}

const parents = (path: string): readonly string[] => {
  const steps = path.split("/").slice(0, -1)
  return steps.map((_, index) => steps.slice(0, index + 1).join("/"))
}

/** Whoever wrote the repository's configuration must not run anything here, and its owner may be another user. */
const safely = ["-c", "core.fsmonitor=false", "-c", "safe.directory=*", "-c", "core.hooksPath=/dev/null"]

export const trackedFiles = async (directory: string, deps: TrackedDeps): Promise<Tracked> => {
  const path = deps.environment.PATH
  const git = Bun.which("git", path === undefined ? {} : { PATH: path })
  if (git === null) return nothing
  const outcome = await runSubprocess(
    {
      command: [git, ...safely, "ls-files", "-z"],
      cwd: directory,
      environment: { ...deps.environment, GIT_OPTIONAL_LOCKS: "0", GIT_CONFIG_NOSYSTEM: "1" },
      timeoutMs: gitTimeoutMs,
      signal: deps.signal,
    },
    deps.ports,
  )
  if (outcome.kind !== "exited" || outcome.code !== 0) return nothing
  const files = new TextDecoder()
    .decode(outcome.stdout)
    .split("\0")
    .filter((name) => name !== "")
  return { files: new Set(files), directories: new Set(files.flatMap(parents)) }
}
