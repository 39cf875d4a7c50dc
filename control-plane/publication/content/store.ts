/**
 * Stored content of Deployments: bundle archives and image layers, each under its digest. Content is written into a
 * staging directory of its own and renamed into place, so that what has a name is whole and never changes.
 */
import { mkdir, rename, stat } from "node:fs/promises"
import { join } from "node:path"
import type { Digest } from "@computerd/protocol/ids"
import { removeTree } from "./remove.ts"

export interface ContentStore {
  readonly bundleFile: (digest: Digest) => string
  readonly layerDirectory: (digest: Digest) => string
  /** A new empty directory that only its maker knows. */
  readonly stage: () => Promise<string>
  readonly discard: (staged: string) => Promise<void>
  /** Gives staged content its name. The same content may have come from somebody else meanwhile. */
  readonly keep: (staged: string, target: string) => Promise<void>
  readonly contains: (target: string) => Promise<boolean>
}

const exists = (path: string): Promise<boolean> =>
  stat(path).then(
    () => true,
    () => false,
  )

/** Removes what an interrupted publication left behind; call it once, before the first publication. */
export const openContentStore = async (
  stateDirectory: string,
  newName: () => string,
): Promise<ContentStore> => {
  const at = (name: string): string => join(stateDirectory, name)
  await removeTree(at("staging"))
  for (const name of ["bundles", "layers", "staging"]) await mkdir(at(name), { recursive: true, mode: 0o700 })
  return {
    bundleFile: (digest) => join(at("bundles"), `${digest}.tar`),
    layerDirectory: (digest) => join(at("layers"), digest),
    stage: async () => {
      const staged = join(at("staging"), newName())
      await mkdir(staged, { mode: 0o700 })
      return staged
    },
    discard: removeTree,
    keep: async (staged, target) => {
      try {
        await rename(staged, target)
      } catch (error) {
        if (!(await exists(target))) throw error
        await removeTree(staged)
      }
    },
    contains: exists,
  }
}
