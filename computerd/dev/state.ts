/** Where `dev` keeps its state: the directory that was named, or a temporary one that goes with it. */
import { mkdir, mkdtemp, realpath, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fail, ok, type Result } from "@computerd/protocol/errors"

export interface StateDirectory {
  readonly path: string
  /** Removes it when it was temporary. */
  readonly release: () => Promise<void>
}

export const openStateDirectory = async (named: string | undefined): Promise<Result<StateDirectory>> => {
  try {
    if (named !== undefined) {
      await mkdir(named, { recursive: true, mode: 0o700 })
      return ok({ path: await realpath(named), release: () => Promise.resolve() })
    }
    const path = await realpath(await mkdtemp(join(tmpdir(), "computerd-")))
    return ok({ path, release: () => rm(path, { recursive: true, force: true, maxRetries: 3 }) })
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error)
    return fail("store_unavailable", `no state directory: ${reason}`)
  }
}
