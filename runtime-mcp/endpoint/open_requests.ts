/**
 * The open requests of one listener: how many, since when, and how each ends. Every one is answered exactly once, by its
 * own work, by its deadline, or by the end of the Session process.
 *
 * O1 a request counts from the moment it passed the gate until its answer is handed to the server
 * O2 an answer that comes after the end is dropped: the first one stands
 * O3 ending a call aborts its signal, which ends the observation and never the mutation
 */
import { mcpRequestTimeoutMs, mcpToolCallTimeoutMs } from "@computerd/protocol/limits"

export interface Limits {
  /** A tool call answers by then, before clients that give up at 60 s do. */
  readonly toolCallMs: number
  /** Whatever a request is doing, it is answered by then. */
  readonly requestMs: number
}

export const defaultLimits: Limits = { toolCallMs: mcpToolCallTimeoutMs, requestMs: mcpRequestTimeoutMs }

export interface Clock {
  readonly monotonicMs: () => number
}

export interface Time {
  readonly clock: Clock
  readonly timers: { readonly after: (delayMs: number, fire: () => void) => () => void }
}

export type End = "tool_deadline" | "request_deadline" | "dropped" | "exited" | "shutting_down"

/** How a request ends whose body is not here yet. */
export type BodyEnded = (end: End) => Response

/** A call that is under way: ending it tells its observers, and answers in the words of its protocol. */
export interface OpenCall {
  readonly end: (end: End) => Response
}

export class OpenRequest {
  readonly startedMs: number
  readonly response: Promise<Response>
  readonly #table: RequestTable
  readonly #resolve: (response: Response) => void
  /** Absent while the body is read. */
  #call: OpenCall | undefined

  constructor(table: RequestTable, startedMs: number) {
    const { promise, resolve } = Promise.withResolvers<Response>()
    this.startedMs = startedMs
    this.response = promise
    this.#table = table
    this.#resolve = resolve
  }

  get phase(): "body" | "call" {
    return this.#call === undefined ? "body" : "call"
  }

  /** Enters the call; `false` when the request has been answered already. */
  calling(call: OpenCall): boolean {
    if (!this.#table.open.has(this)) return false
    this.#call = call
    return true
  }

  answer(response: Response): void {
    if (this.#table.open.delete(this)) this.#resolve(response)
  }

  end(end: End): void {
    if (!this.#table.open.delete(this)) return
    this.#resolve(this.#call === undefined ? this.#table.bodyEnded(end) : this.#call.end(end))
  }
}

interface RequestTable {
  readonly open: Set<OpenRequest>
  readonly bodyEnded: BodyEnded
}

export interface OpenRequests {
  readonly size: () => number
  readonly begin: () => OpenRequest
  readonly endAll: (end: "exited" | "shutting_down") => void
  readonly close: () => void
}

/** When the request has to be looked at next. One whose body is not here yet may be a call by then. */
const dueMs = ({ startedMs }: OpenRequest, { toolCallMs, requestMs }: Limits, nowMs: number): number =>
  Math.min(...[startedMs + toolCallMs, startedMs + requestMs].filter((atMs) => atMs > nowMs))

export const openRequests = (time: Time, limits: Limits, bodyEnded: BodyEnded): OpenRequests => {
  const open = new Set<OpenRequest>()
  const table: RequestTable = { open, bodyEnded }
  let cancelSweep: (() => void) | undefined

  const sweep = (): void => {
    cancelSweep = undefined
    const nowMs = time.clock.monotonicMs()
    for (const request of open) {
      const ageMs = nowMs - request.startedMs
      if (request.phase === "call" && ageMs >= limits.toolCallMs) request.end("tool_deadline")
      else if (ageMs >= limits.requestMs) request.end("request_deadline")
    }
    schedule(nowMs)
  }

  /** One timer for all, armed at most once a deadline: the common request arms none. */
  const schedule = (nowMs: number): void => {
    if (cancelSweep !== undefined || open.size === 0) return
    const nextMs = Math.min(...[...open].map((request) => dueMs(request, limits, nowMs)))
    cancelSweep = time.timers.after(Math.max(1, nextMs - nowMs), sweep)
  }

  return {
    size: () => open.size,
    begin: () => {
      const request = new OpenRequest(table, time.clock.monotonicMs())
      open.add(request)
      schedule(request.startedMs)
      return request
    },
    endAll: (end) => {
      for (const request of [...open]) request.end(end)
    },
    close: () => cancelSweep?.(),
  }
}
