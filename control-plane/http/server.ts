/** Routes of the operator surface: parse, call, map codes. The decisions are the control plane's. */
import { chmodSync, rmSync } from "node:fs"
import { join } from "node:path"
import { CreateKeyRequest } from "@computerd/protocol/api/keys"
import { CodedError, type Failure, fail, failure, ok, type Result } from "@computerd/protocol/errors"
import type { SessionId, TurnId } from "@computerd/protocol/ids"
import { judge } from "@computerd/protocol/judge"
import { Elysia } from "elysia"
import type { z } from "zod"
import type { FleetSnapshot, TurnView } from "../receiver/fleet.ts"
import type { ApiKeys } from "../receiver/keys.ts"
import type { StartRequest as StartCall, StartedSession } from "../receiver/receiver.ts"
import {
  deploymentsPath,
  healthPath,
  KeyPath,
  keysPath,
  operatorSocketName,
  type Published,
  PublishRequest,
  StartRequest,
  sessionsPath,
  snapshotPath,
  TurnPath,
  TurnQuery,
} from "./messages.ts"
import { socketAddress } from "./socket.ts"
import { statusOf } from "./status.ts"

export interface OperatorCalls {
  readonly publish: (request: z.infer<typeof PublishRequest>) => Promise<Result<Published>>
  readonly startSession: (request: StartCall) => Result<StartedSession>
  readonly snapshot: () => FleetSnapshot
  readonly turn: (sessionId: SessionId, turnId: TurnId) => TurnView | undefined
  readonly waitTurn: (
    sessionId: SessionId,
    turnId: TurnId,
    timeoutMs: number,
    signal: AbortSignal,
  ) => Promise<TurnView | "timeout">
  readonly keys: Pick<ApiKeys, "create" | "list" | "revoke">
}

export interface OperatorServer {
  readonly socketPath: string
  readonly close: () => Promise<void>
}

const bodyMaxBytes = 1024 * 1024
/** The most there is: a publication sends nothing until it is done. Honoured on Unix sockets, though not in the types. */
const patience = { idleTimeout: 255 }

const refusal = (error: Failure): Response => Response.json({ error }, { status: statusOf(error.code) })

const answer = <Value>(result: Result<Value>): Response =>
  result.ok ? Response.json(result.value) : refusal(result.error)

const parse = <Value>(schema: z.ZodType<Value>, value: unknown): Result<Value> => {
  const judged = judge(schema, value)
  if (judged.ok) return judged
  const { field, message } = judged.error
  return fail("invalid_arguments", `${field || "body"} ${message}`, field)
}

const body = async <Value>(schema: z.ZodType<Value>, request: Request): Promise<Result<Value>> => {
  try {
    return parse(schema, await request.json())
  } catch {
    return fail("invalid_arguments", "the body is not JSON")
  }
}

const publish = async (calls: OperatorCalls, request: Request): Promise<Response> => {
  const asked = await body(PublishRequest, request)
  return asked.ok ? answer(await calls.publish(asked.value)) : refusal(asked.error)
}

const start = async (calls: OperatorCalls, request: Request): Promise<Response> => {
  const asked = await body(StartRequest, request)
  if (!asked.ok) return refusal(asked.error)
  const { sessionKey, ...call } = asked.value
  return answer(calls.startSession(sessionKey === undefined ? call : { ...call, sessionKey }))
}

const createKey = async (calls: OperatorCalls, request: Request): Promise<Response> => {
  const asked = await body(CreateKeyRequest, request)
  return asked.ok ? answer(calls.keys.create(asked.value)) : refusal(asked.error)
}

const revokeKey = (calls: OperatorCalls, params: unknown): Response => {
  const path = parse(KeyPath, params)
  if (!path.ok) return refusal(path.error)
  const revoked = calls.keys.revoke(path.value.keyId)
  return revoked.ok ? Response.json({ key: revoked.value }) : refusal(revoked.error)
}

interface TurnParts {
  readonly params: unknown
  readonly query: unknown
  readonly request: Request
}

const readTurn = async (calls: OperatorCalls, { params, query, request }: TurnParts): Promise<Response> => {
  const path = parse(TurnPath, params)
  if (!path.ok) return refusal(path.error)
  const options = parse(TurnQuery, query)
  if (!options.ok) return refusal(options.error)
  const { sessionId, turnId } = path.value
  const now = calls.turn(sessionId, turnId)
  if (now === undefined) return refusal(failure("not_found", "there is no such Turn; check both ids"))
  if (options.value.waitMs === 0 || now.settledAtMs !== null) return Response.json(now)
  try {
    const waited = await calls.waitTurn(sessionId, turnId, options.value.waitMs, request.signal)
    return Response.json(waited === "timeout" ? (calls.turn(sessionId, turnId) ?? now) : waited)
  } catch (error) {
    if (error instanceof CodedError) return refusal(failure(error.code, error.message))
    throw error
  }
}

const routes = (calls: OperatorCalls) =>
  new Elysia()
    .post(deploymentsPath, ({ request }) => publish(calls, request), { parse: "none" })
    .post(sessionsPath, ({ request }) => start(calls, request), { parse: "none" })
    .get("/v1/turns/:sessionId/:turnId", (context) => readTurn(calls, context))
    .get(snapshotPath, () => Response.json(calls.snapshot()))
    .post(keysPath, ({ request }) => createKey(calls, request), { parse: "none" })
    .get(keysPath, () => Response.json({ keys: calls.keys.list() }))
    .post(`${keysPath}/:keyId/revoke`, ({ params }) => revokeKey(calls, params), { parse: "none" })
    .get(healthPath, () => new Response("ok\n"))
    .onError(({ code }) =>
      code === "NOT_FOUND"
        ? refusal(failure("not_found", "no such path"))
        : refusal(failure("internal", "the request failed; see the control plane's log")),
    )

const listen = (path: string, calls: OperatorCalls): OperatorServer => {
  const address = socketAddress(path)
  try {
    // The state directory is locked by whoever opens the socket, so one that is there belongs to nobody.
    rmSync(path, { force: true })
    const app = routes(calls)
    const options = {
      unix: address.path,
      development: false as const,
      maxRequestBodySize: bodyMaxBytes,
      fetch: (request: Request) => app.handle(request),
      error: () => refusal(failure("internal", "the request failed; see the control plane's log")),
    }
    Object.assign(options, patience)
    const server = Bun.serve(options)
    chmodSync(path, 0o600)
    return {
      socketPath: path,
      close: async () => {
        await server.stop(true)
        rmSync(path, { force: true })
      },
    }
  } finally {
    address.release()
  }
}

export const openOperatorServer = (stateDirectory: string, calls: OperatorCalls): Result<OperatorServer> => {
  const path = join(stateDirectory, operatorSocketName)
  try {
    return ok(listen(path, calls))
  } catch (error) {
    const reason = error instanceof Error ? error.message : "unknown reason"
    return fail(
      "invalid_configuration",
      `the operator socket ${path} cannot be opened: ${reason}`,
      "stateDirectory",
    )
  }
}
