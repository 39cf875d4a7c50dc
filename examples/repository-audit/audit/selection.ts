/**
 * Which files of a folder are audited. With a repository: what git tracks, and what it neither tracks nor ignores.
 * Without one: every file. `.git` and `node_modules` are left out at any depth.
 */
import type { Dirent } from "node:fs"
import { lstat, readdir } from "node:fs/promises"
import { join } from "node:path"
import { type GitCommand, gitRecords, pathspec } from "../history/git.ts"
import type { Repository } from "../history/repository.ts"

export interface Selection {
  readonly by: "git" | "walk"
  /** Relative to the workspace. May name links, folders of other repositories, and files that are gone. */
  readonly paths: readonly string[]
  readonly unreadableFolders: number
}

const leftOut = new Set([".git", "node_modules"])

const isLeftOut = (path: string): boolean => path.split("/").some((step) => leftOut.has(step))

type Git = Pick<GitCommand, "workspace" | "signal">

const selectedByGit = async (git: Git, folder: string): Promise<readonly string[] | undefined> => {
  const listed = await gitRecords({
    ...git,
    arguments: ["ls-files", "-z", "--cached", "--others", "--exclude-standard", "--", pathspec(folder)],
  })
  // A path in conflict is listed once a version; a repository inside this one ends with a slash.
  return (
    listed && [...new Set(listed.map((path) => path.replace(/\/$/, "")))].filter((path) => !isLeftOut(path))
  )
}

/** Paths whose folders are all real: git tracks a path, and what lies there now may be a link to elsewhere. */
export const realFolders = (workspace: string): ((path: string) => Promise<boolean>) => {
  const known = new Map<string, Promise<boolean>>([["", Promise.resolve(true)]])
  const isReal = (folder: string): Promise<boolean> => {
    const seen = known.get(folder)
    if (seen !== undefined) return seen
    const parent = folder.slice(0, Math.max(0, folder.lastIndexOf("/")))
    const answer = isReal(parent).then(async (real) => {
      if (!real) return false
      return (await lstat(join(workspace, folder)).catch(() => undefined))?.isDirectory() === true
    })
    known.set(folder, answer)
    return answer
  }
  return (path) => isReal(path.slice(0, Math.max(0, path.lastIndexOf("/"))))
}

const walked = async (workspace: string, folder: string): Promise<Selection> => {
  const paths: string[] = []
  const waiting = [folder]
  let unreadableFolders = 0
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    const entries = await entriesOf(join(workspace, next))
    if (entries === undefined) unreadableFolders += 1
    for (const entry of entries ?? []) {
      if (leftOut.has(entry.name)) continue
      const path = next === "." ? entry.name : `${next}/${entry.name}`
      if (!entry.isDirectory()) paths.push(path)
      else if (folder !== ".") waiting.push(path)
    }
  }
  return { by: "walk", paths, unreadableFolders }
}

const entriesOf = (path: string): Promise<readonly Dirent[] | undefined> =>
  readdir(path, { withFileTypes: true }).catch(() => undefined)

/** `folder` is a top-level folder, or `.` for the files that are in none. */
export const selectFiles = async (git: Git, repository: Repository, folder: string): Promise<Selection> => {
  const paths = repository.kind === "own" ? await selectedByGit(git, folder) : undefined
  return paths === undefined ? walked(git.workspace, folder) : { by: "git", paths, unreadableFolders: 0 }
}

/** The folders at the top of the workspace, in code-unit order. */
export const topFolders = async (workspace: string): Promise<readonly string[]> =>
  (await readdir(workspace, { withFileTypes: true }))
    .filter((entry) => entry.isDirectory() && !leftOut.has(entry.name))
    .map((entry) => entry.name)
    .sort()
