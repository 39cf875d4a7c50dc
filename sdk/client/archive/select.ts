/**
 * What of a program's directory is uploaded: its files, with links as what they lead to. Left out are `.git`, what
 * `.gitignore` files name, and in `node_modules` what is no package, such as `.bin`, and `@helmr/sdk`, which the server has.
 * The rest of `node_modules` always goes along, since the server fetches no packages.
 */
import { readdir, readFile, realpath, stat } from "node:fs/promises"
import { join } from "node:path"
import ignore, { type Ignore } from "ignore"
import { linkProblem } from "./links.ts"

export interface SelectRequest {
  readonly directory: string
  /** `false`: `.gitignore` files are files like others. */
  readonly gitignore: boolean
  readonly entriesMax: number
  readonly signal: AbortSignal | undefined
}

/** Its message speaks of a path in the program's directory. */
export class UnfitProgram extends Error {}

interface Patterns {
  /** The directory of the `.gitignore`, relative and with a slash at its end; the root is "". */
  readonly base: string
  readonly matcher: Ignore
}

interface Visit {
  /** Relative with a slash at its end; the root is "". */
  readonly base: string
  readonly patterns: readonly Patterns[]
  readonly above: readonly string[]
  readonly inModules: boolean
}

/** Deeper files overrule shallower ones. A directory's path ends in a slash. */
const isIgnored = (path: string, patterns: readonly Patterns[]): boolean =>
  patterns.reduce((ignored, { base, matcher }) => {
    const verdict = matcher.test(path.slice(base.length))
    return verdict.ignored || (ignored && !verdict.unignored)
  }, false)

const isLeftOut = (name: string, path: string, visit: Visit): boolean => {
  if (name === ".git") return true
  if (!visit.inModules) return name !== "node_modules" && isIgnored(path, visit.patterns)
  if (visit.base.endsWith("node_modules/")) return name.startsWith(".")
  return visit.base.endsWith("node_modules/@helmr/") && name === "sdk"
}

const patternsOf = async (directory: string, base: string): Promise<readonly Patterns[]> => {
  const text = await readFile(join(directory, base, ".gitignore"), "utf8").catch(() => undefined)
  return text === undefined ? [] : [{ base, matcher: ignore({ ignorecase: false }).add(text) }]
}

/** Paths relative to the directory, sorted. Throws `UnfitProgram`, and what the file system throws. */
export const selectFiles = async (request: SelectRequest): Promise<readonly string[]> => {
  const root = await realpath(request.directory)
  const files: string[] = []

  const takeFile = (path: string): void => {
    if (files.length >= request.entriesMax)
      throw new UnfitProgram(
        `holds more than ${request.entriesMax} files to upload; name the others in .gitignore`,
      )
    files.push(path)
  }

  const take = async (path: string, isLink: boolean, visit: Visit): Promise<void> => {
    const target = await realpath(join(root, path))
    const { above } = visit
    const problem = isLink ? linkProblem({ path, target, root, above }) : undefined
    if (problem !== undefined)
      throw new UnfitProgram(`${path} ${problem}; replace it or name it in .gitignore`)
    const found = await stat(target)
    if (found.isFile()) takeFile(path)
    else if (found.isDirectory())
      await walk({
        ...visit,
        base: `${path}/`,
        above: [...above, target],
        inModules: visit.inModules || path.split("/").at(-1) === "node_modules",
      })
    else
      throw new UnfitProgram(`${path} is neither a file nor a directory; remove it or name it in .gitignore`)
  }

  const walk = async (visit: Visit): Promise<void> => {
    request.signal?.throwIfAborted()
    const own = request.gitignore && !visit.inModules ? await patternsOf(root, visit.base) : []
    const inner = { ...visit, patterns: [...visit.patterns, ...own] }
    for (const child of await readdir(join(root, visit.base), { withFileTypes: true })) {
      const path = `${visit.base}${child.name}`
      if (isLeftOut(child.name, child.isDirectory() ? `${path}/` : path, inner)) continue
      await take(path, child.isSymbolicLink(), inner)
    }
  }

  await walk({ base: "", patterns: [], above: [root], inModules: false })
  return files.toSorted()
}
