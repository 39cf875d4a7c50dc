/** Reads one file of the workspace, without following symbolic links and in bounded memory. */
import { constants, type Stats } from "node:fs"
import { type FileHandle, lstat, open } from "node:fs/promises"
import { type TextFacts, textScan } from "./text-scan.ts"

export type Measured =
  | ({ readonly kind: "file" } & TextFacts)
  | { readonly kind: "link" | "folder" | "special" | "missing" | "unreadable" }

const chunkBytes = 262_144

const codeOf = (error: unknown): string =>
  error instanceof Error && "code" in error && typeof error.code === "string" ? error.code : "unknown"

const absent = new Set(["ENOENT", "ENOTDIR"])

const kindOf = (stats: Stats): "file" | "link" | "folder" | "special" => {
  if (stats.isSymbolicLink()) return "link"
  if (stats.isDirectory()) return "folder"
  return stats.isFile() ? "file" : "special"
}

const scan = async (file: FileHandle): Promise<TextFacts> => {
  const facts = textScan()
  const buffer = Buffer.allocUnsafe(chunkBytes)
  for (;;) {
    const { bytesRead } = await file.read(buffer, 0, buffer.length, null)
    if (bytesRead === 0) return facts.end()
    facts.add(buffer.subarray(0, bytesRead))
  }
}

const read = async (path: string): Promise<TextFacts> => {
  // A name that became a link or a pipe after the look at it is refused or cannot block.
  const file = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK)
  try {
    return await scan(file)
  } finally {
    await file.close()
  }
}

export const measure = async (path: string): Promise<Measured> => {
  try {
    const kind = kindOf(await lstat(path))
    return kind === "file" ? { kind, ...(await read(path)) } : { kind }
  } catch (error) {
    return { kind: absent.has(codeOf(error)) ? "missing" : "unreadable" }
  }
}
