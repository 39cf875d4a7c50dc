/** The archive of a bundle. The same files give the same bytes: entries are sorted, times and owners are left out. */
import { readdir } from "node:fs/promises"
import { join } from "node:path"
import { Digest } from "@computerd/protocol/ids"
import { create } from "tar"

const listFiles = async (directory: string, at = ""): Promise<readonly string[]> => {
  const found: string[] = []
  for (const child of await readdir(join(directory, at), { withFileTypes: true })) {
    const path = at === "" ? child.name : `${at}/${child.name}`
    found.push(path)
    if (child.isDirectory()) found.push(...(await listFiles(directory, path)))
  }
  return found
}

const digestOf = async (file: string): Promise<Digest> => {
  const hash = new Bun.CryptoHasher("sha256")
  for await (const chunk of Bun.file(file).stream()) hash.update(chunk)
  return Digest.parse(hash.digest("hex"))
}

export const archive = async (directory: string, file: string): Promise<Digest> => {
  const entries = (await listFiles(directory)).toSorted()
  await create(
    { file, cwd: directory, portable: true, noDirRecurse: true, mtime: new Date(0), mode: 0o600 },
    entries.map((path) => `./${path}`),
  )
  return digestOf(file)
}
