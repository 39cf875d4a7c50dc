/** Whether the workspace holds a git repository of its own, and how far its history can be trusted. */
import { lstat, readFile } from "node:fs/promises"
import { join } from "node:path"
import { runGit } from "./git.ts"

export type Repository =
  | { readonly kind: "none"; readonly reason: NoRepository }
  | {
      readonly kind: "own"
      /** Objects are borrowed from another repository, which is not part of the copy. */
      readonly borrowed: boolean
      /** Commits whose parents a shallow clone left behind. */
      readonly boundary: ReadonlySet<string>
    }

export type NoRepository = "no_repository" | "linked" | "git_absent" | "unreadable"

const missing = Symbol("missing")

const linesOf = async (path: string): Promise<readonly string[]> => {
  const text = await readFile(path, "utf8").catch(() => "")
  return text.split("\n").filter((line) => line !== "")
}

const dotGit = async (workspace: string): Promise<"folder" | "other" | typeof missing> => {
  try {
    return (await lstat(join(workspace, ".git"))).isDirectory() ? "folder" : "other"
  } catch {
    return missing
  }
}

export const openRepository = async (workspace: string, signal: AbortSignal): Promise<Repository> => {
  const found = await dotGit(workspace)
  if (found === missing) return { kind: "none", reason: "no_repository" }
  // A work tree or a submodule: its `.git` points to a repository outside the copy.
  if (found === "other") return { kind: "none", reason: "linked" }
  const probe = await runGit({ workspace, arguments: ["rev-parse", "--git-dir"], signal }, () => undefined)
  if (probe.kind === "absent") return { kind: "none", reason: "git_absent" }
  if (!probe.ok) return { kind: "none", reason: "unreadable" }
  return {
    kind: "own",
    borrowed: (await linesOf(join(workspace, ".git/objects/info/alternates"))).length > 0,
    boundary: new Set(await linesOf(join(workspace, ".git/shallow"))),
  }
}
