/**
 * What of a program's directory is uploaded: its files, with links as what they lead to. Left out are `.git`, what
 * `.gitignore` files name, and in `node_modules` what is no package, such as `.bin`, and `@helmr/sdk`, which the server has.
 * The rest of `node_modules` always goes along, since the server fetches no packages.
 */
import { readdir, readFile, realpath, stat } from "node:fs/promises"
import { join } from "node:path"
import ignore, { type Ignore } from "ignore"
import { rootedPatterns } from "./gitignore.ts"
import { linkProblem } from "./links.ts"

export interface SelectRequest {
  readonly directory: string
  /** `false`: `.gitignore` files are files like others. */
  readonly gitignore: boolean
  readonly entriesMax: number
  readonly signal: AbortSignal
}

/** Its message speaks of a path in the program's directory. */
export class UnfitProgram extends Error {}

interface Visit {
  /** Relative with a slash at its end; the root is "". */
  readonly base: string
  readonly ignored: Ignore
  readonly above: readonly string[]
  readonly inModules: boolean
}

const noPatterns = (): Ignore => ignore({ ignorecase: false, allowRelativePaths: true })

/** A directory's path ends in a slash. */
const isLeftOut = (name: string, path: string, visit: Visit): boolean => {
  if (name === ".git") return true
  if (!visit.inModules) return name !== "node_modules" && visit.ignored.ignores(path)
  if (visit.base.endsWith("node_modules/")) return name.startsWith(".")
  return visit.base.endsWith("node_modules/@helmr/") && name === "sdk"
}

const isAbsent = (error: unknown): boolean =>
  error instanceof Error && "code" in error && (error.code === "ENOENT" || error.code === "EISDIR")

/** One that is there and cannot be read is an error: what it names may be secret. */
const ignoredIn = async (directory: string, { base, ignored }: Visit): Promise<Ignore> => {
  const text = await readFile(join(directory, base, ".gitignore"), "utf8").catch((error: unknown) => {
    if (isAbsent(error)) return ""
    throw error
  })
  const own = rootedPatterns(text, base)
  return own.length === 0 ? ignored : noPatterns().add(ignored).add(own)
}

/** Paths relative to the directory, sorted. Throws `UnfitProgram`, and what the file system throws. */
export const selectFiles = async (request: SelectRequest): Promise<readonly string[]> => {
  const root = await realpath(request.directory)
  const files: string[] = []
  let entries = 0

  /** Links to directories could lead to more of them than any disk holds. */
  const count = (): void => {
    entries += 1
    if (entries > request.entriesMax)
      throw new UnfitProgram(
        `holds more than ${request.entriesMax} files and directories to upload; name the others in .gitignore`,
      )
  }

  /** Throws `UnfitProgram` for a link that leads nowhere or where it may not. */
  const followed = async (path: string, { above }: Visit): Promise<string> => {
    const target = await realpath(join(root, path)).catch(() => undefined)
    const problem =
      target === undefined ? "is a link that leads nowhere" : linkProblem({ path, target, root, above })
    if (target === undefined || problem !== undefined)
      throw new UnfitProgram(`${path} ${problem}; replace it or name it in .gitignore`)
    return target
  }

  const take = async (path: string, isLink: boolean, visit: Visit): Promise<void> => {
    count()
    if (path.includes("\\"))
      throw new UnfitProgram(`${path} has a backslash in its name; rename it or name it in .gitignore`)
    const target = isLink ? await followed(path, visit) : join(root, path)
    const found = await stat(target)
    if (found.isFile()) files.push(path)
    else if (found.isDirectory())
      await walk({
        ...visit,
        base: `${path}/`,
        above: [...visit.above, await realpath(target)],
        inModules: visit.inModules || path.split("/").at(-1) === "node_modules",
      })
    else
      throw new UnfitProgram(`${path} is neither a file nor a directory; remove it or name it in .gitignore`)
  }

  const walk = async (visit: Visit): Promise<void> => {
    request.signal.throwIfAborted()
    const reads = request.gitignore && !visit.inModules
    const inner = { ...visit, ignored: reads ? await ignoredIn(root, visit) : visit.ignored }
    for (const child of await readdir(join(root, visit.base), { withFileTypes: true })) {
      const path = `${visit.base}${child.name}`
      if (isLeftOut(child.name, child.isDirectory() ? `${path}/` : path, inner)) continue
      await take(path, child.isSymbolicLink(), inner)
    }
  }

  await walk({ base: "", ignored: noPatterns(), above: [root], inModules: false })
  return files.toSorted()
}
