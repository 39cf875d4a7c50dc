/** One HTTP request from the gate to its answer, and the counts of both. */
import { mcpConcurrentRequestsMax } from "@computerd/protocol/limits"
import type { Scope } from "@computerd/protocol/scope"
import type { Role } from "../tools/exposure.ts"
import { type Body, readBody } from "./body.ts"
import { type CallDeps, type Refuse, startCall } from "./calls.ts"
import { dispatch, type Outcome, refuseMessage } from "./dispatch.ts"
import { gate, type OwnNames } from "./gate.ts"
import { type End, type OpenRequest, type OpenRequests, openRequests, type Time } from "./open_requests.ts"
import { type Prepared, prepare } from "./prepared.ts"
import type { RefusalClass } from "./refusals.ts"
import { acceptedResponse, jsonResponse, refusalResponse, unreadResponse } from "./responses.ts"
import { createTurns } from "./turns.ts"

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
  /** Requests that passed the gate. */
  readonly passed: number
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

/** What one scope's requests ask for, made at its first request. */
const preparation = (role: Role): ((descriptor: Descriptor) => Prepared) => {
  const made = new Map<string, Prepared>()
  return ({ id, scope }) => {
    const known = made.get(id)
    if (known !== undefined) return known
    const prepared = prepare(scope, role)
    made.set(id, prepared)
    return prepared
  }
}

const bodyEnded =
  (refuse: Refuse) =>
  (end: End): Response => {
    if (end === "dropped") return unreadResponse()
    const ours = end === "exited" || end === "shutting_down"
    return refuse(ours ? "shutting_down" : "body_timeout", "unread")
  }

export const createRequests = (deps: RequestDeps): Requests => {
  const counts = new Map<RefusalClass, number>()
  let passed = 0

  const count = (refusal: RefusalClass): void => {
    counts.set(refusal, (counts.get(refusal) ?? 0) + 1)
  }
  const refuse: Refuse = (refusal, rest) => {
    count(refusal)
    return refusalResponse(refusal, rest)
  }

  const open = openRequests(deps, deps.limits, bodyEnded(refuse))
  const house = { ...deps, full: () => open.size() >= mcpConcurrentRequestsMax }
  const callDeps = { ...deps, refuse }
  const preparedFor = preparation(deps.role)

  const finish = (outcome: Outcome, { request, descriptor, http }: Served): void => {
    switch (outcome.kind) {
      case "accepted":
        request.answer(acceptedResponse())
        break
      case "answer":
        if (outcome.refused !== undefined) count(outcome.refused)
        request.answer(jsonResponse(outcome.text, outcome.status))
        break
      case "call":
        startCall(callDeps, {
          asked: outcome,
          scope: descriptor.scope,
          open: request,
          http,
        })
    }
  }

  const receive = (body: Body, served: Served): void => {
    switch (body.kind) {
      case "text":
        finish(dispatch(body.text, served.http.headers, preparedFor(served.descriptor)), served)
        break
      case "not_text":
        finish(refuseMessage(null, "invalid_utf8"), served)
        break
      case "too_large":
        served.request.answer(refuse("body_too_large", "unread"))
        break
      case "lost":
        served.request.end("dropped")
    }
  }

  const serve = (http: Request): Response | Promise<Response> => {
    const answer = gate(http, house)
    if (!answer.pass) return refuse(answer.refusal, isLong(http) ? "unread" : "read")
    passed += 1
    const request = open.begin()
    const served = { http, request, descriptor: answer.descriptor }
    readBody(http, (body) => {
      try {
        receive(body, served)
      } catch (error) {
        deps.fault(error)
        request.answer(refuse("failed", "unread"))
      }
    })
    return request.response
  }

  const turns = createTurns((run) => void setImmediate(run))
  return {
    serve: (http) => turns.run(() => serve(http)),
    refuse,
    stats: () => ({ open: open.size(), passed, refused: Object.fromEntries(counts) }),
    endAll: open.endAll,
    close: open.close,
  }
}
