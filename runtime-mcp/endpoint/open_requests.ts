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

type Phase =
  | { readonly kind: "body" }
  /** `ended` answers the call in the words of its own protocol. */
  | { readonly kind: "call"; readonly abort: AbortController; readonly ended: (end: End) => Response }

export interface OpenRequest {
  readonly startedMs: number
  readonly phase: () => Phase["kind"]
  /** Enters the call; `undefined` when the request has been answered already. */
  readonly calling: (ended: (end: End) => Response) => AbortSignal | undefined
  readonly answer: (response: Response) => void
  readonly end: (end: End) => void
}

export interface OpenRequests {
  readonly size: () => number
  readonly begin: (bodyEnded: (end: End) => Response) => {
    readonly request: OpenRequest
    readonly response: Promise<Response>
  }
  readonly endAll: (end: "exited" | "shutting_down") => void
  readonly close: () => void
}

/** When the request has to be looked at next. One whose body is not here yet may be a call by then. */
const dueMs = ({ startedMs }: OpenRequest, { toolCallMs, requestMs }: Limits, nowMs: number): number =>
  Math.min(...[startedMs + toolCallMs, startedMs + requestMs].filter((atMs) => atMs > nowMs))

export const openRequests = (time: Time, limits: Limits): OpenRequests => {
  const open = new Set<OpenRequest>()
  let cancelSweep: (() => void) | undefined

  const sweep = (): void => {
    cancelSweep = undefined
    const nowMs = time.clock.monotonicMs()
    for (const request of open) {
      const ageMs = nowMs - request.startedMs
      if (request.phase() === "call" && ageMs >= limits.toolCallMs) request.end("tool_deadline")
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

  const begin: OpenRequests["begin"] = (bodyEnded) => {
    const { promise, resolve } = Promise.withResolvers<Response>()
    const startedMs = time.clock.monotonicMs()
    let phase: Phase = { kind: "body" }
    const request: OpenRequest = {
      startedMs,
      phase: () => phase.kind,
      calling: (ended) => {
        if (!open.has(request)) return undefined
        phase = { kind: "call", abort: new AbortController(), ended }
        return phase.abort.signal
      },
      answer: (response) => {
        if (open.delete(request)) resolve(response)
      },
      end: (end) => {
        if (!open.delete(request)) return
        resolve(phase.kind === "call" ? phase.ended(end) : bodyEnded(end))
        if (phase.kind === "call") phase.abort.abort(end)
      },
    }
    open.add(request)
    schedule(startedMs)
    return { request, response: promise }
  }

  return {
    size: () => open.size,
    begin,
    endAll: (end) => {
      for (const request of [...open]) request.end(end)
    },
    close: () => cancelSweep?.(),
  }
}
