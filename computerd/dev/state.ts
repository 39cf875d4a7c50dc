/** Where `dev` keeps its state: the directory that was named, or a temporary one that goes with it. */
import { existsSync } from "node:fs"
import { mkdtemp, realpath } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { removeTree } from "@computerd/control-plane/publication/content/remove"
import { prepareStateDirectory } from "@computerd/control-plane/state-directory"
import { fail, ok, type Result } from "@computerd/protocol/errors"

export interface StateDirectory {
  readonly path: string
  /** Removes it when it was temporary. */
  readonly release: () => Promise<void>
}

const removeAttempts = 10

/** Something may still be written while it is removed, so one attempt can leave the rest behind. */
const remove = async (path: string): Promise<void> => {
  for (let attempt = 1; attempt <= removeAttempts && existsSync(path); attempt += 1) {
    try {
      await removeTree(path)
    } catch (error) {
      if (attempt === removeAttempts) throw error
    }
  }
}

const makeTemporary = async (): Promise<Result<StateDirectory>> => {
  try {
    const path = await realpath(await mkdtemp(join(tmpdir(), "computerd-")))
    return ok({ path, release: () => remove(path) })
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error)
    return fail("store_unavailable", `no temporary directory can be made: ${reason}`)
  }
}

export const openStateDirectory = async (named: string | undefined): Promise<Result<StateDirectory>> => {
  if (named === undefined) return makeTemporary()
  const prepared = await prepareStateDirectory(named)
  return prepared.ok ? ok({ path: prepared.value, release: () => Promise.resolve() }) : prepared
}
