/** One HTTP request from the gate to its answer, and the counts of both. */
import { mcpConcurrentRequestsMax } from "@computerd/protocol/limits"
import type { Scope } from "@computerd/protocol/scope"
import type { Role } from "../tools/exposure.ts"
import { readBody } from "./body.ts"
import { type CallDeps, type Refuse, runCall } from "./calls.ts"
import { dispatch, type Outcome, refuseMessage } from "./dispatch.ts"
import { gate, type OwnNames } from "./gate.ts"
import { type End, type OpenRequest, type OpenRequests, openRequests, type Time } from "./open_requests.ts"
import { type Prepared, prepare } from "./prepared.ts"
import type { RefusalClass } from "./refusals.ts"
import { acceptedResponse, jsonResponse, refusalResponse, unreadResponse } from "./responses.ts"

export interface Descriptor {
  readonly scope: Scope
  readonly id: string
}

export interface RequestDeps extends Omit<CallDeps, "refuse">, Time {
  readonly names: OwnNames
  readonly role: Role
  readonly descriptor: (authorization: string) => Descriptor | undefined
}

export interface RequestStats {
  readonly open: number
  readonly answered: number
  readonly refused: Readonly<Partial<Record<RefusalClass, number>>>
}

interface Served {
  readonly http: Request
  readonly request: OpenRequest
  readonly descriptor: Descriptor
}

export interface Requests extends Pick<OpenRequests, "endAll" | "close"> {
  readonly serve: (request: Request) => Response | Promise<Response>
  readonly refuse: Refuse
  readonly stats: () => RequestStats
}

/** A body above this is not drained for the sake of keeping a connection. */
const drainedBodyMaxBytes = 65_536

const isLong = ({ headers }: Request): boolean =>
  headers.get("transfer-encoding") !== null || Number(headers.get("content-length")) > drainedBodyMaxBytes

export const createRequests = (deps: RequestDeps): Requests => {
  const open = openRequests(deps, deps.limits)
  const prepared = new Map<string, Prepared>()
  const counts = new Map<RefusalClass, number>()
  let answered = 0

  const house = { ...deps, full: () => open.size() >= mcpConcurrentRequestsMax }

  const count = (refusal: RefusalClass): void => {
    counts.set(refusal, (counts.get(refusal) ?? 0) + 1)
  }

  const refuse: Refuse = (refusal, rest) => {
    count(refusal)
    return refusalResponse(refusal, rest)
  }

  const bodyEnded = (end: End): Response => {
    if (end === "dropped") return unreadResponse()
    const ours = end === "exited" || end === "shutting_down"
    return ours ? refuse("shutting_down", "unread") : refuse("body_timeout", "unread")
  }

  const preparedFor = ({ id, scope }: Descriptor): Prepared => {
    const known = prepared.get(id)
    if (known !== undefined) return known
    const made = prepare(scope, deps.role)
    prepared.set(id, made)
    return made
  }

  const work = async (http: Request, descriptor: Descriptor, request: OpenRequest): Promise<void> => {
    const body = await readBody(http)
    switch (body.kind) {
      case "lost":
        return request.end("dropped")
      case "too_large":
        return request.answer(refuse("body_too_large", "unread"))
      case "not_text":
        return finish(refuseMessage(null, "invalid_utf8"), { http, request, descriptor })
      case "text":
        return finish(dispatch(body.text, http.headers, preparedFor(descriptor)), {
          http,
          request,
          descriptor,
        })
    }
  }

  const finish = (outcome: Outcome, { http, request, descriptor }: Served): void | Promise<void> => {
    switch (outcome.kind) {
      case "accepted":
        return request.answer(acceptedResponse())
      case "answer":
        if (outcome.refused !== undefined) count(outcome.refused)
        return request.answer(jsonResponse(outcome.text, outcome.status))
      case "call":
        return runCall(
          { ...deps, refuse },
          { asked: outcome, scope: descriptor.scope, open: request, dropped: http.signal },
        )
    }
  }

  const serve = (http: Request): Response | Promise<Response> => {
    const passed = gate(http, house)
    if (!passed.pass) return refuse(passed.refusal, isLong(http) ? "unread" : "read")
    answered += 1
    const { request, response } = open.begin(bodyEnded)
    work(http, passed.descriptor, request).catch((error: unknown) => {
      deps.fault(error)
      request.answer(refuse("failed", "unread"))
    })
    return response
  }

  return {
    serve,
    refuse,
    stats: () => ({ open: open.size(), answered, refused: Object.fromEntries(counts) }),
    endAll: open.endAll,
    close: open.close,
  }
}
