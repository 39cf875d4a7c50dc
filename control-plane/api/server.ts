/**
 * The listener of the public API. Plain HTTP: on any other address than loopback it stands behind a proxy that ends TLS, and
 * whoever starts it says so.
 */
import { fail, failure, ok, type Result } from "@computerd/protocol/errors"
import { isLoopback } from "../link/loopback.ts"
import { listenProblem } from "../link/server.ts"
import type { Ports } from "../ports.ts"
import type { ContentStore } from "../publication/content/store.ts"
import type { Publish } from "../publisher.ts"
import type { Receiver } from "../receiver/receiver.ts"
import { createApp } from "./app.ts"
import type { ApiParts, Served } from "./call.ts"
import { computerCalls } from "./calls/computers.ts"
import { definitionCalls } from "./calls/definitions.ts"
import { eventCalls } from "./calls/events.ts"
import { publishCall } from "./calls/publish.ts"
import { sessionCalls } from "./calls/sessions.ts"
import { turnCalls } from "./calls/turns.ts"
import { createPages } from "./events/pages.ts"
import { createWakes } from "./events/wakes.ts"
import { createLimiter } from "./limiter.ts"
import { createOpenRequests } from "./open-requests.ts"
import { refusal } from "./refusal.ts"
import { type ApiSettings, defaultApiSettings } from "./settings.ts"

export interface ApiListen {
  readonly hostname: string
  readonly port: number
  /** Something in front ends TLS; without it only loopback is listened on. */
  readonly behindProxy: boolean
}

export interface ApiServer {
  readonly url: string
  readonly close: () => Promise<void>
}

export interface ApiServerDeps {
  readonly listen: ApiListen
  readonly settings?: Partial<ApiSettings>
  readonly receiver: Pick<Receiver, "outside" | "keys" | "onHistory">
  readonly content: Pick<ContentStore, "stage" | "discard">
  readonly publish: Publish
  readonly ports: Ports
}

/** The most there is: a publication sends nothing until it is done. */
const idleTimeoutSeconds = 255
const closeMaxMs = 1_000

const callsOf = (deps: ApiServerDeps, parts: ApiParts) => {
  const pages = createPages(deps.receiver.outside.events)
  const wakes = createWakes(deps.ports)
  const unsubscribe = deps.receiver.onHistory((roots) => {
    pages.forget()
    wakes.wake(roots)
  })
  const served: readonly Served[] = [
    publishCall({ ...parts, content: deps.content, publish: deps.publish }),
    ...definitionCalls(parts),
    ...computerCalls(parts),
    ...sessionCalls(parts),
    ...turnCalls(parts),
    ...eventCalls({ ...parts, pages, wakes }),
  ]
  return { served, unsubscribe }
}

const internal = failure("internal", "the request failed; see the control plane's log")

const listen = (
  { hostname, port }: ApiListen,
  settings: ApiSettings,
  handle: (request: Request) => Response | Promise<Response>,
) =>
  Bun.serve({
    hostname,
    port,
    development: false,
    reusePort: false,
    idleTimeout: idleTimeoutSeconds,
    // Above every bound of ours, so that a body just beyond one is refused in words.
    maxRequestBodySize: 2 * Math.max(settings.uploadMaxBytes, settings.bodyMaxBytes),
    fetch: handle,
    error: () => refusal(internal),
  })

export const openApiServer = (deps: ApiServerDeps): Result<ApiServer> => {
  const { receiver, ports } = deps
  if (!deps.listen.behindProxy && !isLoopback(deps.listen.hostname))
    return fail(
      "invalid_configuration",
      "the public API speaks plain HTTP: listen on loopback, or say that a proxy which ends TLS stands in front",
      "api.hostname",
    )
  const settings = { ...defaultApiSettings, ...deps.settings }
  const open = createOpenRequests(settings.openRequestsMax)
  const { served, unsubscribe } = callsOf(deps, { receiver, settings, open })
  const handle = createApp({
    served,
    authenticate: receiver.keys.authenticate,
    limiter: createLimiter(settings.requestsPerSecond, ports.runningMs),
    settings,
    ports,
  })
  let server: ReturnType<typeof listen>
  try {
    server = listen(deps.listen, settings, handle)
  } catch (error) {
    unsubscribe()
    return fail("invalid_configuration", listenProblem(deps.listen, error), "api.port")
  }
  const forgetKeys = receiver.keys.onRevoked(open.revoke)
  const hostname = server.hostname ?? deps.listen.hostname
  const url = `http://${hostname.includes(":") ? `[${hostname}]` : hostname}:${server.port}`
  ports.journal.record({ type: "api_listening", url })
  return ok({
    url,
    close: async () => {
      forgetKeys()
      unsubscribe()
      open.close()
      const bound = new Promise<void>((resolve) => ports.after(closeMaxMs, resolve))
      await Promise.race([server.stop(true), bound])
    },
  })
}
