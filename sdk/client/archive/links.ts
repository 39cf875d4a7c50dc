/** What a walk does with symbolic links. Archives hold none: a link goes along as what it leads to. Pure. */
import { isAbsolute, relative, sep } from "node:path"

const within = (inner: string, outer: string): boolean => {
  const path = relative(outer, inner)
  return path === "" || !(path === ".." || path.startsWith(`..${sep}`) || isAbsolute(path))
}

export interface Link {
  /** Relative to the program's directory, with `/`. */
  readonly path: string
  /** Where it leads, all links resolved. */
  readonly target: string
  /** The program's directory, all links resolved. */
  readonly root: string
  /** The directories that the walk is in, all links resolved. */
  readonly above: readonly string[]
}

/** What a package manager linked in belongs to the program, wherever it lies. */
const isPackage = (path: string): boolean => path.split("/").includes("node_modules")

/** Why it cannot go along; absent when it can. */
export const linkProblem = ({ path, target, root, above }: Link): string | undefined => {
  if (above.some((directory) => within(directory, target))) return "is a link to a directory that it lies in"
  if (!within(target, root) && !isPackage(path)) return "is a link that leads out of the program's directory"
  return undefined
}
