/**
 * The programs that processes of a control plane start from, in its state directory. They lie in a folder that their
 * content names: it is never changed, so what started from it, or will, finds it whole.
 */
import { mkdir, mkdtemp, readdir, rename, rm } from "node:fs/promises"
import { join } from "node:path"
import { fail, ok, type Result } from "@computerd/protocol/errors"
import { build, sessionHostFile, supervisorFile } from "./build.ts"
import { type Cache, cached } from "./cache.ts"
import { installation, sourcesDigest } from "./sources.ts"

export interface Programs {
  readonly supervisor: string
  readonly sessionHost: string
}

const cache: Cache = {
  directory: join(installation, "node_modules/.cache/computerd"),
  digest: sourcesDigest,
}

const digestOf = async (directory: string): Promise<string> => {
  const hash = new Bun.CryptoHasher("sha256")
  for (const name of (await readdir(directory)).sort()) {
    hash.update(`${name}\0`)
    hash.update(await Bun.file(join(directory, name)).bytes())
  }
  return hash.digest("hex")
}

/** Puts a finished build in its place, unless the same one is there already. */
const place = async (staged: string, at: string): Promise<void> => {
  try {
    await rename(staged, at)
  } catch (error) {
    const taken =
      error instanceof Error && "code" in error && ["EEXIST", "ENOTEMPTY"].includes(String(error.code))
    if (!taken) throw error
  }
}

const prepare = async (directory: string): Promise<Programs> => {
  await mkdir(directory, { recursive: true, mode: 0o700 })
  const staged = await mkdtemp(join(directory, "building-"))
  try {
    await cached(cache, staged, build)
    const at = join(directory, await digestOf(staged))
    await place(staged, at)
    return { supervisor: join(at, supervisorFile), sessionHost: join(at, sessionHostFile) }
  } finally {
    await rm(staged, { recursive: true, force: true })
  }
}

export const preparePrograms = async (stateDirectory: string): Promise<Result<Programs>> => {
  try {
    return ok(await prepare(join(stateDirectory, "programs")))
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error)
    return fail(
      "invalid_configuration",
      `the programs of Computers cannot be built in ${stateDirectory}: ${reason}`,
    )
  }
}
