/** What the programs are built from, as one digest: the packages below the command, their dependencies, and Bun itself. */
import { readdir } from "node:fs/promises"
import { join } from "node:path"

export const installation = join(import.meta.dir, "../..")

const packages = ["protocol", "skill", "runtime-mcp", "sdk", "session-host", "supervisor"]
const others = ["bun.lock", "computerd/supervisor.ts", "computerd/version.ts", "computerd/programs/build.ts"]

const filesOf = async (name: string): Promise<readonly string[]> => {
  const entries = await readdir(join(installation, name), { recursive: true, withFileTypes: true })
  return entries
    .filter((entry) => entry.isFile() && !entry.parentPath.includes("/node_modules"))
    .map((entry) => join(entry.parentPath, entry.name).slice(installation.length + 1))
}

/** Rejects when something of it cannot be read. */
export const sourcesDigest = async (): Promise<string> => {
  const files = [...(await Promise.all(packages.map(filesOf))).flat(), ...others].toSorted()
  const contents = await Promise.all(files.map((file) => Bun.file(join(installation, file)).bytes()))
  const hash = new Bun.CryptoHasher("sha256").update(`${Bun.version} ${Bun.revision}\0`)
  for (const [at, file] of files.entries()) {
    const bytes = contents[at] ?? new Uint8Array()
    hash.update(`${file}\0${bytes.length}\0`).update(bytes)
  }
  return hash.digest("hex")
}
