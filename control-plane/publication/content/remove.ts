/** Removes a directory tree, also one that holds directories which forbid writing to their owner. */
import { chmod, lstat, readdir, rm } from "node:fs/promises"
import { join } from "node:path"

const openDirectories = async (path: string): Promise<void> => {
  const entry = await lstat(path).catch(() => undefined)
  if (entry === undefined || !entry.isDirectory()) return
  await chmod(path, 0o700)
  for (const child of await readdir(path, { withFileTypes: true }))
    if (child.isDirectory()) await openDirectories(join(path, child.name))
}

export const removeTree = async (path: string): Promise<void> => {
  try {
    await rm(path, { recursive: true, force: true })
  } catch {
    await openDirectories(path)
    await rm(path, { recursive: true, force: true })
  }
}
