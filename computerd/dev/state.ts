/** Where `dev` keeps its state: the directory that was named, or a temporary one that goes with it. */
import { existsSync } from "node:fs"
import { mkdir, mkdtemp, realpath } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { removeTree } from "@computerd/control-plane/publication/content/remove"
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

export const openStateDirectory = async (named: string | undefined): Promise<Result<StateDirectory>> => {
  try {
    if (named !== undefined) {
      await mkdir(named, { recursive: true, mode: 0o700 })
      return ok({ path: await realpath(named), release: () => Promise.resolve() })
    }
    const path = await realpath(await mkdtemp(join(tmpdir(), "computerd-")))
    return ok({ path, release: () => remove(path) })
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error)
    return fail("store_unavailable", `no state directory: ${reason}`)
  }
}
