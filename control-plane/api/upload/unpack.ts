/**
 * Unpacks an uploaded program.
 *
 * U1 the whole archive is judged before anything of it is written
 * U2 files and directories alone, inside the target alone; their number, size and depth are bounded
 * U3 it is not compressed: what it says of its sizes is what it takes to read
 */
import { open } from "node:fs/promises"
import { posix } from "node:path"
import { fail, ok, type Result } from "@computerd/protocol/errors"
import { extract, list, type ReadEntry } from "tar"

export interface UnpackBounds {
  readonly unpackedMaxBytes: number
  readonly archiveEntriesMax: number
}

const pathMaxLength = 1024
const files: ReadonlySet<string> = new Set(["File", "OldFile", "ContiguousFile"])
const magicAt = 257
const magic = "ustar"
const gzip = [0x1f, 0x8b]
const zstd = [0x28, 0xb5, 0x2f, 0xfd]
const headerBytes = 512

const invalid = (problem: string): Result<never> =>
  fail("invalid_program", `the archive ${problem}`, "archive")

const startsWith = (bytes: Uint8Array, start: readonly number[]): boolean =>
  start.every((byte, index) => bytes[index] === byte)

/** U3 */
const isPlainTar = async (path: string): Promise<boolean> => {
  const file = await open(path, "r")
  try {
    const { buffer, bytesRead } = await file.read(Buffer.alloc(headerBytes), 0, headerBytes, 0)
    if (bytesRead < headerBytes || startsWith(buffer, gzip) || startsWith(buffer, zstd)) return false
    return buffer.toString("latin1", magicAt, magicAt + magic.length) === magic
  } finally {
    await file.close()
  }
}

const isInside = (path: string): boolean =>
  path.length <= pathMaxLength &&
  !path.includes("\0") &&
  !path.includes("\\") &&
  !posix.isAbsolute(path) &&
  !path.split("/").includes("..")

/** U2 */
const problemOf = (entry: ReadEntry): string | undefined => {
  if (!isInside(entry.path)) return "holds a path that leads out of it or is too long"
  if (files.has(entry.type) || entry.type === "Directory") return undefined
  return "holds something other than files and directories, such as a link"
}

/** U1; the first thing that is wrong. */
const judge = async (archive: string, bounds: UnpackBounds): Promise<Result<void>> => {
  let problem: string | undefined
  let bytes = 0
  let entries = 0
  await list({
    file: archive,
    strict: true,
    onReadEntry: (entry) => {
      entries += 1
      bytes += entry.size
      problem ??= problemOf(entry)
      if (entries > bounds.archiveEntriesMax)
        problem ??= `holds more than ${bounds.archiveEntriesMax} entries`
      if (bytes > bounds.unpackedMaxBytes) problem ??= `holds more than ${bounds.unpackedMaxBytes} bytes`
    },
  })
  if (problem !== undefined) return invalid(problem)
  return entries === 0 ? invalid("is empty") : ok(undefined)
}

export const unpackProgram = async (
  archive: string,
  target: string,
  bounds: UnpackBounds,
): Promise<Result<void>> => {
  try {
    if (!(await isPlainTar(archive))) return invalid("is not an uncompressed tar archive")
    const judged = await judge(archive, bounds)
    if (!judged.ok) return judged
    await extract({
      file: archive,
      cwd: target,
      strict: true,
      preserveOwner: false,
      noMtime: true,
      filter: (path) => isInside(path),
    })
    return ok(undefined)
  } catch {
    return invalid("is damaged")
  }
}
