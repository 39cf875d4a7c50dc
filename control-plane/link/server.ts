/**
 * Where supervisors connect: the link and the bundles they need, on one address. Everything is refused that does not
 * bear a Computer's credential.
 *
 * S2 the loss of a connection loses no work: the lease goes on, and a supervisor that is gone is its driver's to report
 */
import { fail, ok, type Result } from "@computerd/protocol/errors"
import { type ComputerId, Digest } from "@computerd/protocol/ids"
import { frameMaxBytes } from "@computerd/protocol/limits"
import { bundlePath, linkPath } from "@computerd/protocol/link"
import type { Ports } from "../ports.ts"
import type { Receiver } from "../receiver/receiver.ts"
import { authenticate } from "./authenticate.ts"
import { type BundleDeps, bundleResponse } from "./bundles.ts"
import type { Connection } from "./connection.ts"
import { createConnections } from "./connections.ts"
import { isLoopback, loopbackAdvice } from "./loopback.ts"

export interface LinkServer {
  readonly hostname: string
  readonly port: number
  /** `http://host:port` */
  readonly url: string
  /** The Computer is parked: its supervisor, when it wakes, is to attach anew. */
  readonly park: (computerId: ComputerId) => void
  readonly close: () => Promise<void>
}

export interface LinkServerDeps extends BundleDeps {
  readonly receiver: Receiver
  readonly ports: Ports
  readonly listen: { readonly hostname: string; readonly port: number }
  readonly attached: (computerId: ComputerId) => void
}

interface SocketData {
  readonly computerId: ComputerId
  connection: Connection | undefined
}

/** Renewals come every 15 s; a peer that is silent for this long is gone. */
const idleTimeoutSeconds = 60
/** What is kept for a peer that does not read; beyond it the connection ends and the next one replays. */
const backlogMaxBytes = 16 * 1024 * 1024
const closeMaxMs = 1_000

const refusal = (status: number, text: string): Response => new Response(`${text}\n`, { status })

const bundlePrefix = bundlePath("")

const closedText = (code: number, reason: string): string =>
  reason === "" ? `closed with ${code}` : `closed with ${code}: ${reason}`

const listenAdvice: Readonly<Record<string, string>> = {
  EADDRINUSE: "stop what uses the port, or choose another",
  EACCES: "choose a port that this user may take",
  EADDRNOTAVAIL: "choose an address that this machine has",
  EAFNOSUPPORT: "choose an address of a kind that this machine has",
}

/** Why an address cannot be listened on, and what to do about it. */
export const listenProblem = (
  { hostname, port }: { readonly hostname: string; readonly port: number },
  error: unknown,
): string => {
  const code = error instanceof Error && "code" in error ? String(error.code) : "unknown reason"
  const place = `${hostname.includes(":") ? `[${hostname}]` : hostname}:${port}`
  return `cannot listen on ${place} (${code}); ${listenAdvice[code] ?? "choose another address"}`
}

export const serveLink = (deps: LinkServerDeps): Result<LinkServer> => {
  const { receiver, ports } = deps
  if (!isLoopback(deps.listen.hostname))
    return fail("invalid_configuration", `the address of the link ${loopbackAdvice}`, "listen.hostname")
  const connections = createConnections(deps)

  const bundle = (path: string, computerId: ComputerId): Promise<Response> | Response => {
    const digest = Digest.safeParse(path.slice(bundlePrefix.length))
    return digest.success ? bundleResponse(digest.data, computerId, deps) : refusal(404, "no such bundle")
  }

  const serve = () =>
    Bun.serve<SocketData>({
      ...deps.listen,
      development: false,
      // Else a second server would bind the same port and take half of the connections.
      reusePort: false,
      idleTimeout: idleTimeoutSeconds,
      error: () => refusal(500, "internal error"),
      fetch: (request, server) => {
        const path = request.url.slice(request.url.indexOf("/", "http://".length))
        if (request.headers.has("origin")) return refusal(403, "not for browsers")
        const computerId = authenticate(request, receiver)
        if (computerId === undefined) {
          ports.journal.record({ type: "link_refused", computerId: null, reason: "unknown credential" })
          return refusal(401, "unknown credential")
        }
        if (request.method !== "GET")
          return new Response("only GET\n", { status: 405, headers: { Allow: "GET" } })
        if (path.startsWith(bundlePrefix)) return bundle(path, computerId)
        if (path !== linkPath) return refusal(404, "not found")
        const upgraded = server.upgrade(request, { data: { computerId, connection: undefined } })
        return upgraded ? undefined : refusal(426, "a WebSocket is needed here")
      },
      websocket: {
        // Above the frame limit, so that a frame just beyond it is answered before anything is cut.
        maxPayloadLength: frameMaxBytes * 2,
        backpressureLimit: backlogMaxBytes,
        closeOnBackpressureLimit: true,
        idleTimeout: idleTimeoutSeconds,
        sendPings: true,
        open: (ws) => {
          ws.data.connection = connections.open(ws.data.computerId, {
            send: (text) => ws.send(text) !== 0,
            close: (code, reason) => ws.close(code, reason),
          })
        },
        message: (ws, data) => ws.data.connection?.receive(data),
        close: (ws, code, reason) => {
          const { connection } = ws.data
          if (connection !== undefined) connections.closed(connection, closedText(code, reason))
        },
      },
    })

  let server: ReturnType<typeof serve>
  try {
    server = serve()
  } catch (error) {
    connections.close()
    return fail("invalid_configuration", listenProblem(deps.listen, error), "listen.port")
  }
  const hostname = server.hostname ?? deps.listen.hostname
  const port = server.port ?? deps.listen.port
  const url = `http://${hostname.includes(":") ? `[${hostname}]` : hostname}:${port}`
  ports.journal.record({ type: "listening", url })
  return ok({
    hostname,
    port,
    url,
    park: connections.park,
    close: async () => {
      connections.close()
      const bound = new Promise<void>((resolve) => ports.after(closeMaxMs, resolve))
      await Promise.race([server.stop(true), bound])
    },
  })
}
