/**
 * Builds that are kept beside the installation, where tools keep what can be made again, so that only the first start
 * pays for one. An entry is named by what it was built from and is whole or absent. An installation that cannot be
 * written to has none, and builds at each start.
 */
import { cp, mkdir, mkdtemp, readdir, rename, rm } from "node:fs/promises"
import { join } from "node:path"

export interface Cache {
  readonly directory: string
  /** What a build would be made from. */
  readonly digest: () => Promise<string>
}

/** Of sources that are gone: nothing starts from the cache itself, so nobody misses them. */
const forgetOthers = async (directory: string, name: string): Promise<void> => {
  for (const other of await readdir(directory))
    if (other !== name && !other.startsWith("building-"))
      await rm(join(directory, other), { recursive: true, force: true })
}

/** Whether `target` now holds the build. */
const take = async (entry: string, target: string): Promise<boolean> => {
  try {
    await cp(entry, target, { recursive: true })
    return true
  } catch {
    return false
  }
}

/** A build that cannot be kept is made again next time; two that are kept at once are the same. */
const keep = async (directory: string, name: string, built: string): Promise<void> => {
  let staged: string | undefined
  try {
    await mkdir(directory, { recursive: true, mode: 0o700 })
    staged = await mkdtemp(join(directory, "building-"))
    await cp(built, staged, { recursive: true })
    await rename(staged, join(directory, name))
    await forgetOthers(directory, name)
  } catch {
    if (staged !== undefined) await rm(staged, { recursive: true, force: true }).catch(() => undefined)
  }
}

/** Fills `target`, which is empty, from the cache or by `build`. Rejects when it cannot be built. */
export const cached = async (
  { directory, digest }: Cache,
  target: string,
  build: (directory: string) => Promise<void>,
): Promise<void> => {
  const name = await digest().catch(() => undefined)
  if (name !== undefined && (await take(join(directory, name), target))) return
  await build(target)
  if (name !== undefined) await keep(directory, name, target)
}
