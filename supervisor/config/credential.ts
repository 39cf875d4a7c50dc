/**
 * The Computer's credential: a file that is read again at every attempt to attach, so that it can be replaced while
 * the supervisor runs. It must be a regular file that nobody else may read, and the check looks at the file that was
 * opened, not at whatever bears the name a moment later. Errors never hold its content.
 */
import { closeSync, constants, fstatSync, openSync, readFileSync } from "node:fs"
import { fail, ok, type Result } from "@computerd/protocol/errors"

const credentialMaxBytes = 4_096
const othersBits = 0o077

const refuse = (problem: string): Result<never> => fail("invalid_configuration", problem)

const check = (path: string, file: number): Result<string> => {
  const facts = fstatSync(file)
  if (!facts.isFile()) return refuse(`${path} must be a regular file`)
  const mode = facts.mode & 0o777
  if ((mode & othersBits) !== 0)
    return refuse(`${path} has mode 0${mode.toString(8)} and may be read or written by others; make it 0600`)
  if (facts.size > credentialMaxBytes) return refuse(`${path} is larger than ${credentialMaxBytes} bytes`)
  const credential = readFileSync(file, "utf8").trim()
  if (credential === "") return refuse(`${path} is empty`)
  if (!/^[!-~]+$/.test(credential)) return refuse(`${path} must hold one line of printable characters`)
  return ok(credential)
}

/** A few bytes from a local file, so nothing is gained by not waiting for them. */
export const readCredential = (path: string): Result<string> => {
  let file: number | undefined
  try {
    // Non-blocking, so that a FIFO of that name cannot hang the boot.
    file = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK)
    return check(path, file)
  } catch (error) {
    const code = error instanceof Error && "code" in error ? String(error.code) : "unknown error"
    return refuse(`${path} cannot be read (${code})`)
  } finally {
    if (file !== undefined) closeSync(file)
  }
}
