/** A program as it is uploaded: from its directory, or as an archive that the caller made. */
import { apiUploadEntriesMax, apiUploadMaxBytes } from "@computerd/protocol/api/limits"
import { HelmrError } from "../../error.ts"
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

const unfit = (directory: string, error: unknown): HelmrError => {
  const message = error instanceof Error ? error.message : String(error)
  const code = error instanceof UnfitProgram ? "invalid_program" : "invalid_arguments"
  return new HelmrError({ code, message: `${directory}: ${message}`, field: "directory" })
}

/** Rejects with `invalid_program`, `invalid_arguments` (what cannot be read), or the reason of the signal. */
export const archiveOf = async (program: Program, signal: AbortSignal): Promise<Uint8Array<ArrayBuffer>> => {
  if ("archive" in program) return new Uint8Array(program.archive)
  const { directory, gitignore = true } = program
  try {
    const files = await selectFiles({ directory, gitignore, entriesMax: apiUploadEntriesMax, signal })
    if (files.length === 0) throw new UnfitProgram("holds nothing to upload")
    return await pack({ directory, files, maxBytes: apiUploadMaxBytes, signal })
  } catch (error) {
    signal.throwIfAborted()
    throw unfit(directory, error)
  }
}
