/** Files that travel with a Deployment. Publication reads them; nothing is read when a program calls this. */
import { definition } from "./definition.ts"

export interface DirectoryOptions {
  /** Leave out what `.gitignore` files and git's own exclude file name, unless git tracks it. Default: true. */
  readonly gitignore?: boolean
  /** Further patterns to leave out, written as in a `.gitignore` file. */
  readonly exclude?: readonly string[]
}

export interface DirectorySource {
  readonly [definition]: "directory"
  readonly kind: "directory"
  /** Relative to the program's directory, or absolute. */
  readonly path: string
  readonly gitignore: boolean
  readonly exclude: readonly string[]
}

const directory = (path: string, options: DirectoryOptions = {}): DirectorySource =>
  Object.freeze<DirectorySource>({
    [definition]: "directory",
    kind: "directory",
    path,
    gitignore: options?.gitignore ?? true,
    exclude: options?.exclude ?? [],
  })

export const source = { directory } as const
