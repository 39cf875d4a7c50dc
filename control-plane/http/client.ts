/** A client of the operator surface. Every call has a deadline; a failure is a value and names what to do. */
import { join } from "node:path"
import { CreatedKey, type CreateKeyRequest, KeyList, RevokedKey } from "@computerd/protocol/api/keys"
import { fail, ok, type Result } from "@computerd/protocol/errors"
import type { ApiKeyId, SessionId, TurnId } from "@computerd/protocol/ids"
import type { z } from "zod"
import {
  deploymentsPath,
  ErrorAnswer,
  keysPath,
  operatorSocketName,
  Published,
  type PublishRequest,
  SnapshotAnswer,
  Started,
  type StartRequest,
  sessionsPath,
  snapshotPath,
  TurnAnswer,
} from "./messages.ts"
import { socketAddress } from "./socket.ts"

export interface OperatorClient {
  readonly publish: (request: z.input<typeof PublishRequest>) => Promise<Result<Published>>
  readonly startSession: (request: z.input<typeof StartRequest>) => Promise<Result<Started>>
  /** Answers early when the Turn settles; `waitMs` is at most a minute. */
  readonly turn: (sessionId: SessionId, turnId: TurnId, waitMs?: number) => Promise<Result<TurnAnswer>>
  readonly snapshot: () => Promise<Result<SnapshotAnswer>>
  /** The answer holds the text of the key, which cannot be read again. */
  readonly createKey: (request: z.input<typeof CreateKeyRequest>) => Promise<Result<CreatedKey>>
  readonly keys: () => Promise<Result<z.infer<typeof KeyList>>>
  readonly revokeKey: (id: ApiKeyId) => Promise<Result<z.infer<typeof RevokedKey>>>
}

const answerTimeoutMs = 15_000
/** Bundling, describing and reading a large source take their time, each with a limit of its own. */
const publishTimeoutMs = 10 * 60_000

interface Call<Value> {
  readonly path: string
  readonly answer: z.ZodType<Value>
  readonly timeoutMs: number
  readonly body?: unknown
}

const read = async <Value>(response: Response, schema: z.ZodType<Value>): Promise<Result<Value>> => {
  const value: unknown = await response.json().catch(() => undefined)
  if (!response.ok) {
    const refused = ErrorAnswer.safeParse(value)
    return refused.success
      ? { ok: false, error: refused.data.error }
      : fail("internal", `the control plane answered ${response.status}`)
  }
  const parsed = schema.safeParse(value)
  return parsed.success
    ? ok(parsed.data)
    : fail(
        "unsupported_protocol",
        "the control plane answered in another form; use the same version on both sides",
      )
}

export const operatorClient = (stateDirectory: string): OperatorClient => {
  const path = join(stateDirectory, operatorSocketName)

  const call = async <Value>(request: Call<Value>): Promise<Result<Value>> => {
    try {
      const address = socketAddress(path)
      try {
        const response = await fetch(`http://control-plane${request.path}`, {
          unix: address.path,
          signal: AbortSignal.timeout(request.timeoutMs),
          ...(request.body === undefined ? {} : { method: "POST", body: JSON.stringify(request.body) }),
        })
        return await read(response, request.answer)
      } finally {
        address.release()
      }
    } catch (error) {
      if (error instanceof Error && error.name === "TimeoutError")
        return fail(
          "admission_unavailable",
          `the control plane did not answer within ${request.timeoutMs / 1000} s`,
        )
      return fail("not_found", `no control plane answers at ${path}; start one with this state directory`)
    }
  }

  return {
    publish: (body) => call({ path: deploymentsPath, answer: Published, timeoutMs: publishTimeoutMs, body }),
    startSession: (body) => call({ path: sessionsPath, answer: Started, timeoutMs: answerTimeoutMs, body }),
    turn: (sessionId, turnId, waitMs = 0) =>
      call({
        path: `/v1/turns/${sessionId}/${turnId}?waitMs=${waitMs}`,
        answer: TurnAnswer,
        timeoutMs: answerTimeoutMs + waitMs,
      }),
    createKey: (body) => call({ path: keysPath, answer: CreatedKey, timeoutMs: answerTimeoutMs, body }),
    keys: () => call({ path: keysPath, answer: KeyList, timeoutMs: answerTimeoutMs }),
    revokeKey: (id) =>
      call({ path: `${keysPath}/${id}/revoke`, answer: RevokedKey, timeoutMs: answerTimeoutMs, body: {} }),
    snapshot: () => call({ path: snapshotPath, answer: SnapshotAnswer, timeoutMs: answerTimeoutMs }),
  }
}
