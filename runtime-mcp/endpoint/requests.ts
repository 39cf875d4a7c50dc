/** One HTTP request from the gate to its answer. */
import { mcpConcurrentRequestsMax } from "@computerd/protocol/limits"
import type { Scope } from "@computerd/protocol/scope"
import type { Role } from "../tools/exposure.ts"
import { type Body, readBody } from "./body.ts"
import { type CallDeps, startCall } from "./calls.ts"
import { createRefusalCounter, type RefusalCounter, type RefusalCounts, type Refuse } from "./counts.ts"
import { dispatch, type Outcome, refuseMessage } from "./dispatch.ts"
import { gate, type OwnNames } from "./gate.ts"
import { type End, type OpenRequest, type OpenRequests, openRequests, type Time } from "./open_requests.ts"
import { type Prepared, prepare } from "./prepared.ts"
import { acceptedResponse, jsonResponse, unreadResponse } from "./responses.ts"
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
  readonly refused: RefusalCounts
}

export interface Requests extends Pick<OpenRequests, "endAll" | "close"> {
  readonly serve: (request: Request) => Response | Promise<Response>
  readonly refuse: Refuse
  readonly stats: () => RequestStats
}

/** A request that passed the gate. */
interface Served {
  readonly http: Request
  readonly open: OpenRequest
  readonly descriptor: Descriptor
}

/** What the answering of one listener's requests shares. */
interface House {
  readonly calls: CallDeps
  readonly counter: RefusalCounter
  readonly preparedFor: (descriptor: Descriptor) => Prepared
}

/** A body above this is not drained for the sake of keeping a connection. */
const drainedBodyMaxBytes = 65_536

const unreadBody = ({ headers }: Request): "read" | "unread" => {
  const isLong =
    headers.get("transfer-encoding") !== null || Number(headers.get("content-length")) > drainedBodyMaxBytes
  return isLong ? "unread" : "read"
}

/** What one scope's requests ask for, made at its first request. */
const preparation = (role: Role): House["preparedFor"] => {
  const made = new Map<string, Prepared>()
  return ({ id, scope }) => {
    const known = made.get(id)
    if (known !== undefined) return known
    const prepared = prepare(scope, role)
    made.set(id, prepared)
    return prepared
  }
}

const bodyEnded = (end: End, { refuse }: RefusalCounter): Response => {
  if (end === "dropped") return unreadResponse()
  const ours = end === "exited" || end === "shutting_down"
  return refuse(ours ? "shutting_down" : "body_timeout", "unread")
}

const finish = (house: House, outcome: Outcome, { open, descriptor, http }: Served): void => {
  switch (outcome.kind) {
    case "accepted":
      open.answer(acceptedResponse())
      break
    case "answer":
      if (outcome.refused !== undefined) house.counter.refusedMessage(outcome.refused)
      open.answer(jsonResponse(outcome.text, outcome.status))
      break
    case "call":
      startCall(house.calls, { asked: outcome, scope: descriptor.scope, open, http })
  }
}

const receive = (house: House, body: Body, served: Served): void => {
  switch (body.kind) {
    case "text":
      finish(house, dispatch(body.text, served.http.headers, house.preparedFor(served.descriptor)), served)
      break
    case "not_text":
      finish(house, refuseMessage(null, "invalid_utf8"), served)
      break
    case "too_large":
      served.open.answer(house.counter.refuse("body_too_large", "unread"))
      break
    case "lost":
      served.open.end("dropped")
  }
}

export const createRequests = (deps: RequestDeps): Requests => {
  const counter = createRefusalCounter()
  const { refuse } = counter
  const open = openRequests(deps, deps.limits, (end) => bodyEnded(end, counter))
  const entrance = { ...deps, full: () => open.size() >= mcpConcurrentRequestsMax }
  const house: House = { calls: { ...deps, refuse }, counter, preparedFor: preparation(deps.role) }
  const turns = createTurns((run) => void setImmediate(run))
  let passed = 0

  const serve = (http: Request): Response | Promise<Response> => {
    const answer = gate(http, entrance)
    if (!answer.pass) return refuse(answer.refusal, unreadBody(http))
    passed += 1
    const served = { http, open: open.begin(), descriptor: answer.descriptor }
    readBody(http, (body) => {
      try {
        receive(house, body, served)
      } catch (error) {
        deps.fault(error)
        served.open.answer(refuse("failed", "unread"))
      }
    })
    return served.open.response
  }

  return {
    serve: (http) => turns.run(() => serve(http)),
    refuse,
    stats: () => ({ open: open.size(), passed, refused: counter.counts() }),
    endAll: open.endAll,
    close: open.close,
  }
}
