/** The archive of a program: plain tar, the same bytes for the same files, so that a repeated upload is known again. */
import { create } from "tar"
import { UnfitProgram } from "./select.ts"

/** The API takes no links: a file that has several names is stored once for each. */
class NoLinks extends Map<`${number}:${number}`, string> {
  override set(): this {
    return this
  }
}

export interface PackRequest {
  readonly directory: string
  /** Relative to the directory. */
  readonly files: readonly string[]
  readonly maxBytes: number
  readonly signal: AbortSignal
}

/** Throws `UnfitProgram`, and what the file system throws. */
export const pack = async (request: PackRequest): Promise<Uint8Array<ArrayBuffer>> => {
  const options = {
    cwd: request.directory,
    follow: true,
    noDirRecurse: true,
    portable: true,
    strict: true,
    mtime: new Date(0),
    linkCache: new NoLinks(),
  }
  const chunks: Uint8Array[] = []
  let size = 0
  // A name that begins with "@" would be taken for an archive to read from.
  for await (const chunk of create(
    options,
    request.files.map((path) => `./${path}`),
  )) {
    request.signal.throwIfAborted()
    size += chunk.byteLength
    if (size > request.maxBytes)
      throw new UnfitProgram(
        `is larger than ${request.maxBytes} bytes; name what is not needed in .gitignore`,
      )
    chunks.push(chunk)
  }
  return new Uint8Array(Buffer.concat(chunks, size))
}
