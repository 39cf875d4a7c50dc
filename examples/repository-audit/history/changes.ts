/**
 * How often each file changed: the number of commits reachable from HEAD, merges left out, that touch its path. A
 * rename starts a new path. Side branches count in full, so the answer does not depend on how git simplifies history.
 */
import { type GitCommand, gitRecords, pathspec, runGit } from "./git.ts"
import type { NoRepository, Repository } from "./repository.ts"

export const commitsMax = 10_000

export type NoHistory = NoRepository | "borrowed" | "no_commits" | "incomplete"

export type History =
  | { readonly kind: "none"; readonly reason: NoHistory }
  | {
      readonly kind: "read"
      /** Those that touch the folder and were compared with their parents. */
      readonly commits: number
      /** There are older ones that were not read. */
      readonly limited: boolean
      readonly shallow: boolean
    }

export interface Changes {
  readonly history: History
  readonly perFile: ReadonlyMap<string, number>
}

type Git = Pick<GitCommand, "workspace" | "signal">

const none = (reason: NoHistory): Changes => ({ history: { kind: "none", reason }, perFile: new Map() })

const hasCommits = async (git: Git): Promise<boolean> =>
  (await gitRecords({ ...git, arguments: ["rev-parse", "--quiet", "--verify", "HEAD^{commit}"] })) !==
  undefined

/** Newest first, one more than `commitsMax` when there are more. */
const commitsTouching = (git: Git, folder: string): Promise<readonly string[] | undefined> => {
  const range = ["--no-merges", "--full-history", `--max-count=${commitsMax + 1}`, "HEAD"]
  return gitRecords({
    ...git,
    arguments: ["rev-list", ...range, "--", pathspec(folder)],
    recordEnd: "line_feed",
  })
}

/**
 * Adds up the paths of each commit. In the raw format each path follows a record that begins with a colon, so that a
 * file named like a commit is not taken for one.
 */
const countPaths = async (git: Git, folder: string, commits: readonly string[]) => {
  const perFile = new Map<string, number>()
  let pathFollows = false
  const compare = ["diff-tree", "--stdin", "-r", "--root", "--no-renames", "--raw", "-z"]
  const run = await runGit(
    { ...git, arguments: [...compare, "--", pathspec(folder)], input: `${commits.join("\n")}\n` },
    (record) => {
      if (pathFollows) perFile.set(record, (perFile.get(record) ?? 0) + 1)
      pathFollows = !pathFollows && record.startsWith(":")
    },
  )
  return run.kind === "ran" && run.ok ? perFile : undefined
}

/** `folder` is a top-level folder, or `.` for the files that are in none. */
export const changesIn = async (git: Git, repository: Repository, folder: string): Promise<Changes> => {
  if (repository.kind === "none") return none(repository.reason)
  if (repository.borrowed) return none("borrowed")
  const found = await commitsTouching(git, folder)
  if (found === undefined) return none((await hasCommits(git)) ? "incomplete" : "no_commits")
  // What a shallow clone cut off would look as if it had been added by the first commit that it kept.
  const commits = found.slice(0, commitsMax).filter((commit) => !repository.boundary.has(commit))
  const perFile = commits.length === 0 ? new Map<string, number>() : await countPaths(git, folder, commits)
  if (perFile === undefined) return none("incomplete")
  const history = {
    kind: "read",
    commits: commits.length,
    limited: found.length > commitsMax,
    shallow: repository.boundary.size > 0,
  } as const
  return { history, perFile }
}
