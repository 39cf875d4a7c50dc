/** Small files that must survive a crash: what is read afterwards is the old content or the new one, whole. */
import { open, rename } from "node:fs/promises"
import { dirname } from "node:path"

/** Synced, renamed into place, and the name synced too. The file is for its owner only. */
export const writeDurably = async (path: string, text: string): Promise<void> => {
  const partial = `${path}.partial`
  const file = await open(partial, "w", 0o600)
  try {
    await file.writeFile(text)
    await file.sync()
  } finally {
    await file.close()
  }
  await rename(partial, path)
  const folder = await open(dirname(path), "r")
  try {
    await folder.sync()
  } finally {
    await folder.close()
  }
}
