/** The state directory: made when it is not there, for its owner alone, and known by its real path. */
import { chmod, mkdir, realpath } from "node:fs/promises"
import { fail, ok, type Result } from "@computerd/protocol/errors"

const reasons: Readonly<Record<string, string>> = {
  EEXIST: "it is not a directory",
  ENOTDIR: "its path leads through something that is not a directory",
  ENOENT: "its path leads through a link to nothing, or to where nothing can be made",
  ELOOP: "its path leads through links in a circle",
  EACCES: "this user may not make or use it",
  EPERM: "it belongs to somebody else",
  EROFS: "it would lie on a read-only file system",
  ENOSPC: "the disk is full",
  ENAMETOOLONG: "its path is too long",
}

const whyNot = (error: unknown): string => {
  const code = error instanceof Error && "code" in error ? String(error.code) : "unknown reason"
  return reasons[code] ?? code
}

export const prepareStateDirectory = async (given: string): Promise<Result<string>> => {
  try {
    await mkdir(given, { recursive: true, mode: 0o700 })
    await chmod(given, 0o700)
    return ok(await realpath(given))
  } catch (error) {
    const message = `the state directory ${given} cannot be used: ${whyNot(error)}`
    return fail("invalid_configuration", message, "stateDirectory")
  }
}
