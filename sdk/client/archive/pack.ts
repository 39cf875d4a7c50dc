/** The archive of a program: plain tar, the same bytes for the same files, so that a repeated upload is known again. */
import { create, type Pack } from "tar"
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

/** Not by iteration, which lets an error that comes between two chunks go unheard, and so end the whole process. */
const collected = (archive: Pack, { maxBytes, signal }: PackRequest): Promise<Buffer<ArrayBuffer>> =>
  new Promise((resolve, reject) => {
    const chunks: Buffer[] = []
    let size = 0
    const giveUp = (reason: unknown): void => {
      reject(reason)
      archive.destroy()
    }
    archive.on("error", giveUp)
    archive.on("end", () => resolve(Buffer.concat(chunks, size)))
    archive.on("data", (chunk: Buffer) => {
      size += chunk.byteLength
      chunks.push(chunk)
      if (signal.aborted) giveUp(signal.reason)
      else if (size > maxBytes)
        giveUp(new UnfitProgram(`is larger than ${maxBytes} bytes; name what is not needed in .gitignore`))
    })
  })

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
  // A name that begins with "@" would be taken for an archive to read from.
  const names = request.files.map((path) => `./${path}`)
  return collected(create(options, names), request)
}
