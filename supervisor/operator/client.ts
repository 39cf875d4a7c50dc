/** Reads a supervisor's status over its operator socket. */
import { statSync } from "node:fs"
import { Failure, fail, type Result } from "@computerd/protocol/errors"
import { judge } from "@computerd/protocol/judge"
import { Status, statusPath } from "@computerd/protocol/operator"
import { socketAddress } from "./socket.ts"

/** A supervisor answers from memory; one that needs longer is stuck. */
const answerMs = 5_000

const isSocket = (path: string): boolean => {
  try {
    return statSync(path).isSocket()
  } catch {
    return false
  }
}

const get = async (socketPath: string): Promise<Response> => {
  const address = socketAddress(socketPath)
  try {
    return await fetch(`http://supervisor${statusPath}`, {
      unix: address.path,
      signal: AbortSignal.timeout(answerMs),
    })
  } finally {
    address.release()
  }
}

const explain = (socketPath: string, error: unknown): Result<never> => {
  const name = error instanceof Error ? error.name : ""
  if (name === "TimeoutError")
    return fail(
      "internal",
      `the supervisor behind ${socketPath} has not answered within ${answerMs} ms; see its log`,
    )
  const code = error instanceof Error && "code" in error ? String(error.code) : name
  if (code === "EACCES" || code === "EPERM")
    return fail("unauthorized", `${socketPath} may be opened only by the user that runs the supervisor`)
  return fail(
    "not_found",
    `no supervisor answers at ${socketPath}: the one that made it is gone; start it again`,
  )
}

const refused = (socketPath: string, body: unknown): Result<never> => {
  const error = Failure.safeParse(body)
  if (error.success) return { ok: false, error: error.data }
  return fail("internal", `the supervisor behind ${socketPath} could not answer; see its log`)
}

export const readStatus = async (socketPath: string): Promise<Result<Status>> => {
  if (!isSocket(socketPath))
    return fail("not_found", `no supervisor runs here: there is no socket at ${socketPath}`)
  try {
    const response = await get(socketPath)
    if (!response.ok) return refused(socketPath, await response.json())
    const status = judge(Status, await response.json())
    if (status.ok) return status
    const { field, message } = status.error
    return fail(
      "unsupported_protocol",
      `the supervisor's status is of another version (${field}: ${message})`,
    )
  } catch (error) {
    return explain(socketPath, error)
  }
}
