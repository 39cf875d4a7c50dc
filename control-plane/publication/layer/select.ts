/** Walks a source directory and says what belongs to its layer. Symbolic links are named, never followed. */
import { lstat, readdir, readlink } from "node:fs/promises"
import { join } from "node:path"
import { leftOut, type PatternFile, readPatterns } from "./ignored.ts"
import type { Tracked } from "./tracked.ts"

export type SelectedEntry = { readonly path: string } & (
  | { readonly kind: "file"; readonly mode: number; readonly size: number }
  | { readonly kind: "directory"; readonly mode: number }
  | { readonly kind: "link"; readonly target: string }
)

export interface Selection {
  readonly entries: readonly SelectedEntry[]
  /** What could not be taken, in words. */
  readonly notices: readonly string[]
}

export interface SelectRequest {
  readonly directory: string
  /** `undefined`: `.gitignore` files are ordinary files. */
  readonly git: { readonly tracked: Tracked; readonly inherited: readonly PatternFile[] } | undefined
  readonly exclude: PatternFile
  /** Absolute path that is never taken: where the control plane itself keeps its state. */
  readonly ownState: string
  readonly signal?: AbortSignal | undefined
}

interface Visit {
  /** Relative to the layer; "" is the layer itself. */
  readonly path: string
  readonly patterns: readonly PatternFile[]
  /** Inside `.git`, where only `exclude` counts. */
  readonly inGit: boolean
  /** Inside a directory that is left out but holds tracked files. */
  readonly trackedOnly: boolean
}

/** Above this a directory is not a source but a mistake, such as the root of a disk. */
export const entriesMax = 1_000_000

const permissions = 0o777

type Choice = "take" | "tracked_only" | "leave"

const choose = (request: SelectRequest, visit: Visit, path: string, isDirectory: boolean): Choice => {
  const asked = isDirectory ? `${path}/` : path
  if (leftOut([request.exclude], request.directory, asked)) return "leave"
  if (request.git === undefined || visit.inGit) return "take"
  const { tracked } = request.git
  if (isDirectory ? tracked.directories.has(path) : tracked.files.has(path))
    return isDirectory && (visit.trackedOnly || leftOut(visit.patterns, request.directory, asked))
      ? "tracked_only"
      : "take"
  return visit.trackedOnly || leftOut(visit.patterns, request.directory, asked) ? "leave" : "take"
}

const describe = async (directory: string, path: string): Promise<SelectedEntry | "special" | "gone"> => {
  try {
    const entry = await lstat(join(directory, path))
    const mode = entry.mode & permissions
    if (entry.isFile()) return { path, kind: "file", mode, size: entry.size }
    if (entry.isDirectory()) return { path, kind: "directory", mode }
    if (!entry.isSymbolicLink()) return "special"
    return { path, kind: "link", target: await readlink(join(directory, path)) }
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "ENOENT") return "gone"
    throw error
  }
}

/** Throws what the file system throws; the caller names the step. */
export const select = async (request: SelectRequest): Promise<Selection> => {
  const entries: SelectedEntry[] = []
  const notices: string[] = []

  const take = async (visit: Visit, name: string, isDirectory: boolean): Promise<void> => {
    const path = visit.path === "" ? name : `${visit.path}/${name}`
    const isGit = name === ".git"
    const choice = isGit
      ? choose(request, { ...visit, inGit: true }, path, isDirectory)
      : choose(request, visit, path, isDirectory)
    if (choice === "leave" || join(request.directory, path) === request.ownState) return
    const entry = await describe(request.directory, path)
    if (entry === "gone") return
    if (entry === "special") {
      notices.push(`${path} is neither a file, a directory nor a link; it is left out`)
      return
    }
    if (entries.length >= entriesMax) throw new Error(`holds more than ${entriesMax} entries`)
    entries.push(entry)
    if (isGit && entry.kind === "file")
      notices.push(`${path} points to a repository outside of this directory; its history is not carried`)
    if (entry.kind === "directory")
      await walk({
        path,
        patterns: visit.patterns,
        inGit: visit.inGit || isGit,
        trackedOnly: choice === "tracked_only",
      })
  }

  const walk = async (visit: Visit): Promise<void> => {
    request.signal?.throwIfAborted()
    const at = join(request.directory, visit.path)
    const own =
      request.git === undefined || visit.inGit ? [] : await readPatterns(at, ".gitignore", visit.path)
    const inner = { ...visit, patterns: [...visit.patterns, ...own] }
    for (const child of await readdir(at, { withFileTypes: true })) {
      if (child.name.includes("\uFFFD"))
        notices.push(`${join(visit.path, child.name)} has a name that is not UTF-8; it is left out`)
      else await take(inner, child.name, child.isDirectory())
    }
  }

  await walk({ path: "", patterns: request.git?.inherited ?? [], inGit: false, trackedOnly: false })
  return { entries: entries.toSorted((a, b) => (a.path < b.path ? -1 : 1)), notices }
}
