/**
 * What gitignore-style patterns leave out. Deeper files overrule shallower ones, the last matching pattern of a file
 * decides, and what git tracks is never left out by a `.gitignore` (only by `exclude`).
 */
import { join, relative } from "node:path"
import ignore, { type Ignore } from "ignore"

export interface PatternFile {
  /** Directory that the patterns are relative to, itself relative to the layer: "" is the layer, ".." its parent. */
  readonly base: string
  readonly matcher: Ignore
}

export const patterns = (base: string, text: string | readonly string[]): PatternFile => ({
  base,
  matcher: ignore({ ignorecase: false }).add(text),
})

const read = async (file: string): Promise<string | undefined> => {
  try {
    return await Bun.file(file).text()
  } catch {
    return undefined
  }
}

export const readPatterns = async (
  directory: string,
  name: string,
  base: string,
): Promise<readonly PatternFile[]> => {
  const text = await read(join(directory, name))
  return text === undefined ? [] : [patterns(base, text)]
}

/** Patterns from above the layer: git's own exclude file and the `.gitignore` of every directory up to the root. */
export const inheritedPatterns = async (
  directory: string,
  root: string | undefined,
): Promise<readonly PatternFile[]> => {
  if (root === undefined) return []
  const found = [...(await readPatterns(root, ".git/info/exclude", relative(directory, root)))]
  const below = relative(root, directory)
  const steps = below === "" ? [] : below.split("/")
  for (let depth = 0; depth < steps.length; depth += 1) {
    const at = join(root, ...steps.slice(0, depth))
    found.push(...(await readPatterns(at, ".gitignore", relative(directory, at))))
  }
  return found
}

/** `path` is relative to the layer; `undefined` when no pattern speaks of it. */
const verdict = (file: PatternFile, layer: string, path: string): boolean | undefined => {
  const seen = relative(join(layer, file.base), join(layer, path))
  const result = file.matcher.test(path.endsWith("/") ? `${seen}/` : seen)
  if (result.ignored) return true
  return result.unignored ? false : undefined
}

/** A directory's path ends in `/`. */
export const leftOut = (files: readonly PatternFile[], layer: string, path: string): boolean =>
  files.reduce<boolean>((ignored, file) => verdict(file, layer, path) ?? ignored, false)
