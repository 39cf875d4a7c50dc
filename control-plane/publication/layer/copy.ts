/**
 * Copies selected entries into a staged directory and digests what was written, so that a file which changes during
 * the copy is stored and digested as one and the same content.
 */
import { chmod, constants, copyFile, mkdir, symlink } from "node:fs/promises"
import { join } from "node:path"
import { Digest } from "@computerd/protocol/ids"
import { eachBounded } from "../content/parallel.ts"
import type { SelectedEntry } from "./select.ts"

const copiesAtOnce = 16
/** Below this a file is read once and written from memory. */
const smallFileBytes = 1024 * 1024

const fileDigest = async (path: string): Promise<string> => {
  const hash = new Bun.CryptoHasher("sha256")
  for await (const chunk of Bun.file(path).stream()) hash.update(chunk)
  return hash.digest("hex")
}

const copySmall = async (from: string, to: string): Promise<string> => {
  const bytes = await Bun.file(from).bytes()
  await Bun.write(to, bytes)
  return new Bun.CryptoHasher("sha256").update(bytes).digest("hex")
}

const copyOne = async (from: string, to: string, size: number): Promise<string> => {
  if (size <= smallFileBytes) return copySmall(from, to)
  await copyFile(from, to, constants.COPYFILE_FICLONE)
  return fileDigest(to)
}

const octal = (mode: number): string => mode.toString(8).padStart(3, "0")

export interface CopyPlace {
  readonly source: string
  readonly target: string
  readonly signal?: AbortSignal | undefined
}

type File = Extract<SelectedEntry, { kind: "file" }>

const copyFiles = async (
  files: readonly File[],
  { source, target, signal }: CopyPlace,
): Promise<ReadonlyMap<string, string>> => {
  const digests = new Map<string, string>()
  await eachBounded(files, copiesAtOnce, async ({ path, mode, size }) => {
    signal?.throwIfAborted()
    const to = join(target, path)
    digests.set(path, await copyOne(join(source, path), to, size))
    await chmod(to, mode)
  })
  return digests
}

/** What identifies an entry beside its path. */
const identity = (entry: SelectedEntry, contents: ReadonlyMap<string, string>): readonly string[] => {
  switch (entry.kind) {
    case "file":
      return ["file", octal(entry.mode), contents.get(entry.path) ?? ""]
    case "directory":
      return ["directory", octal(entry.mode)]
    case "link":
      return ["link", entry.target]
  }
}

/** `entries` are sorted by path, so a directory precedes what it holds. */
export const copyLayer = async (entries: readonly SelectedEntry[], place: CopyPlace): Promise<Digest> => {
  const { target } = place
  const directories = entries.filter((entry) => entry.kind === "directory")
  await mkdir(target, { recursive: true, mode: 0o700 })
  for (const { path } of directories) await mkdir(join(target, path), { mode: 0o700 })
  const contents = await copyFiles(
    entries.filter((entry) => entry.kind === "file"),
    place,
  )
  for (const entry of entries)
    if (entry.kind === "link") await symlink(entry.target, join(target, entry.path))
  // From the leaves up: a directory may forbid its owner to write.
  for (const { path, mode } of directories.toReversed()) await chmod(join(target, path), mode)
  const hash = new Bun.CryptoHasher("sha256")
  for (const entry of entries) hash.update(`${JSON.stringify([entry.path, ...identity(entry, contents)])}\n`)
  return Digest.parse(hash.digest("hex"))
}
