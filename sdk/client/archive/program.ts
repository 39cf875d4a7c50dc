/** A program as it is uploaded: from its directory, or as an archive that the caller made. */
import { apiUploadEntriesMax, apiUploadMaxBytes } from "@computerd/protocol/api/limits"
import { HelmrError } from "../../error.ts"
import { invalidArgument } from "../errors.ts"
import { pack } from "./pack.ts"
import { selectFiles, UnfitProgram } from "./select.ts"

export type Program =
  | {
      readonly directory: string
      /** Leave out what `.gitignore` files name, but for `node_modules`. Default: true. */
      readonly gitignore?: boolean | undefined
    }
  /** Plain tar of the directory's content, without links. */
  | { readonly archive: Uint8Array }

/** What `readdir` and `realpath` say of the directory itself. */
const problems: ReadonlyMap<unknown, string> = new Map([
  ["ENOENT", "does not exist"],
  ["ENOTDIR", "is not a directory"],
  ["EACCES", "cannot be read"],
])

const unfit = (directory: string, error: unknown): HelmrError => {
  const problem = error instanceof Error && "code" in error ? problems.get(error.code) : undefined
  const said = error instanceof Error ? error.message : String(error)
  const message = problem === undefined || !said.includes(`'${directory}'`) ? said : problem
  const code = error instanceof UnfitProgram ? "invalid_program" : "invalid_arguments"
  return new HelmrError({ code, message: `${directory}: ${message}`, field: "directory" })
}

/** Rejects with `invalid_program`, `invalid_arguments` (what cannot be read), or the reason of the signal. */
export const archiveOf = async (program: Program, signal: AbortSignal): Promise<Uint8Array<ArrayBuffer>> => {
  if (typeof program !== "object" || program === null)
    throw invalidArgument("program", "must be { directory } or { archive }")
  if ("archive" in program) {
    if (program.archive instanceof Uint8Array) return new Uint8Array(program.archive)
    throw invalidArgument("archive", "must be the bytes of a tar archive")
  }
  const { directory, gitignore = true } = program
  if (typeof directory !== "string") throw invalidArgument("directory", "must be a path")
  try {
    const files = await selectFiles({ directory, gitignore, entriesMax: apiUploadEntriesMax, signal })
    if (files.length === 0) throw new UnfitProgram("holds nothing to upload")
    return await pack({ directory, files, maxBytes: apiUploadMaxBytes, signal })
  } catch (error) {
    signal.throwIfAborted()
    throw unfit(directory, error)
  }
}
