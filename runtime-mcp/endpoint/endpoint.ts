/**
 * One MCP listener for one Session process: loopback, stateless, JSON answers. It decides who may speak, what a message
 * is and what it may cost; what a tool call does is decided by whoever answers `invoke`.
 *
 * M1 authority is asked for twice: before the body is read and again before the call is made
 * M2 at most 64 requests are open at once, over all descriptors; the next is refused with its body unread
 * M3 every open request is answered before its socket is closed, also when the Session process ends
 * M4 a dropped request ends the observation, never the mutation
 */
import { fail, ok, type Result } from "@computerd/protocol/errors"
import type { AdmissionAnswer } from "@computerd/protocol/link"
import type { Role } from "../tools/exposure.ts"
import type { ToolCall } from "./calls.ts"
import { type Admission, mcpPath, ownNames } from "./gate.ts"
import { defaultLimits, type Limits, type Time } from "./open_requests.ts"
import { createRequests, type Descriptor, type RequestStats, type Requests } from "./requests.ts"

export interface EndpointDeps extends Time {
  /** On 127.0.0.1; 0 lets the kernel choose. */
  readonly port: number
  readonly role: Role
  /** By the whole value of the Authorization header, compared in constant time. `id` is stable for one scope. */
  readonly descriptor: (authorization: string) => Descriptor | undefined
  /** Asked before the body and again before the call. */
  readonly admission: () => Admission
  readonly invoke: (call: ToolCall) => Promise<AdmissionAnswer>
  /** What should not happen: `invoke` rejected, or the endpoint itself threw. The client's answer does not show it. */
  readonly fault: (error: unknown) => void
  /** The protocol's, unless a test needs shorter ones. */
  readonly limits?: Limits
}

export type CloseReason = "exited" | "shutting_down"

export interface Endpoint {
  readonly url: string
  readonly port: number
  readonly stats: () => RequestStats
  /** Answers what is open, refuses what still comes, then closes every socket. Idempotent. */
  readonly close: (reason: CloseReason) => Promise<void>
}

/** Above our own deadline, so that ours acts first; connections that stall in a header or between requests end by it. */
const idleTimeoutSeconds = 120
/** How long answers may take to leave once the listener closes. */
const flushMs = 2_000

type Server = Bun.Server<undefined>

/**
 * Bun's own limits are set so that ours act: its 413 has no body, its error page shows source. Unless it is told
 * otherwise it shares a port with whoever else binds it.
 */
const listen = (deps: EndpointDeps, requests: () => Requests): Result<Server> => {
  try {
    const server = Bun.serve({
      hostname: "127.0.0.1",
      port: deps.port,
      reusePort: false,
      development: false,
      idleTimeout: idleTimeoutSeconds,
      maxRequestBodySize: Number.MAX_SAFE_INTEGER,
      fetch: (request) => requests().serve(request),
      error: (error) => {
        deps.fault(error)
        return requests().refuse("failed", "unread")
      },
    })
    return ok(server)
  } catch (error) {
    const reason = error instanceof Error && "code" in error ? String(error.code) : "unknown"
    return fail("admission_unavailable", `cannot listen on 127.0.0.1:${deps.port} (${reason})`)
  }
}

/** Waits for answers to leave, a bounded time, then takes the sockets down. */
const drain = async (server: Server, time: Time): Promise<void> => {
  let cancel: () => void = () => undefined
  const limit = new Promise<void>((resolve) => {
    cancel = time.timers.after(flushMs, resolve)
  })
  await Promise.race([server.stop(false), limit])
  cancel()
  await server.stop(true)
}

export const createEndpoint = (deps: EndpointDeps): Result<Endpoint> => {
  let closing: Promise<void> | undefined
  const bound = listen(deps, () => requests)
  if (!bound.ok) return bound
  const server = bound.value
  const port = server.port ?? deps.port
  // The kernel may have chosen the port, and the names that are accepted depend on it; no request comes before this.
  const requests = createRequests({
    ...deps,
    admission: () => (closing === undefined ? deps.admission() : "shutting_down"),
    limits: deps.limits ?? defaultLimits,
    names: ownNames(port),
  })
  const close = async (reason: CloseReason): Promise<void> => {
    requests.endAll(reason)
    await drain(server, deps)
    requests.close()
  }
  return ok({
    url: `http://127.0.0.1:${port}${mcpPath}`,
    port,
    stats: requests.stats,
    close: (reason) => {
      closing ??= close(reason)
      return closing
    },
  })
}
