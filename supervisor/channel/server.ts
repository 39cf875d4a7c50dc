/**
 * The listener of the Session channel: one WebSocket server on loopback, at a port that stays the same over restarts.
 * A connection is checked in this order: Host, Origin, path, secret; nothing of it is read before.
 *
 * CS1 a process is known by its secret alone, of which the store holds a hash
 * CS2 of one process only the newest connection lives
 */
import type { SupervisorConfiguration } from "@computerd/protocol/configuration"
import { ok, type Result } from "@computerd/protocol/errors"
import type { SessionId } from "@computerd/protocol/ids"
import { frameMaxBytes, sessionOrphanMs } from "@computerd/protocol/limits"
import { within } from "../ports.ts"
import type { ProcessIdentity } from "../process/identity.ts"
import { Connection, type ConnectionDeps } from "./connection.ts"
import { bindInRange } from "./port.ts"
import { findBySecret, presentedSecret } from "./secret.ts"

export interface ChannelServer {
  readonly url: string
  readonly port: number
  /** Where processes of an earlier supervisor look for the channel; unset when there was none. */
  readonly previousPort: number | undefined
  /** There may be new frames for this Session's process. */
  readonly flush: (sessionId: SessionId) => void
  /** Ends the connection of a process that is gone. */
  readonly drop: (process: ProcessIdentity) => void
  readonly close: () => Promise<void>
}

export interface ChannelServerDeps extends ConnectionDeps {
  readonly config: SupervisorConfiguration
}

interface SocketData {
  readonly process: ProcessIdentity
  connection: Connection | undefined
}

const channelPath = "/channel"
/** Several signs of life within the time after which a process believes itself orphaned. */
const pingEveryMs = sessionOrphanMs / 8
/** A frame above its limit is read so that it can be answered; beyond this the socket is cut. */
const payloadMaxBytes = 2 * frameMaxBytes
/** What a process that does not read may leave with us; the rest stays in the store. */
const backpressureMaxBytes = 2 * frameMaxBytes
const closeTimeoutMs = 1000
const goingAway = 1001
const replaced = 1000

const refusal = (status: number): Response => new Response(null, { status })

export const openChannelServer = (deps: ChannelServerDeps): Result<ChannelServer> => {
  const { store, journal, ports } = deps
  const connections = new Map<SessionId, Connection>()

  /** Who connects, or the refusal. */
  const admit = (request: Request, port: number): ProcessIdentity | Response => {
    const { headers } = request
    const host = headers.get("host")
    if (host !== `127.0.0.1:${port}` || headers.has("origin")) return refusal(403)
    const secret = presentedSecret(headers.get("authorization"))
    const row = secret === undefined ? undefined : findBySecret(store.processes.all(), secret)
    if (row === undefined) {
      journal.record({ event: "channel_unauthorized" })
      return refusal(401)
    }
    return { sessionId: row.sessionId, generation: row.generation }
  }

  const accept = (socket: Bun.ServerWebSocket<SocketData>): void => {
    const { process } = socket.data
    const connection = new Connection(deps, process, {
      send: (text) => socket.send(text),
      close: (code, reason) => socket.close(code, reason),
    })
    socket.data.connection = connection
    connections.get(process.sessionId)?.hangUp(replaced, "a newer connection took over")
    connections.set(process.sessionId, connection)
  }

  const forget = (socket: Bun.ServerWebSocket<SocketData>, code: number, reason: string): void => {
    const { process, connection } = socket.data
    connection?.closed()
    if (connections.get(process.sessionId) === connection) connections.delete(process.sessionId)
    journal.record({ event: "channel_closed", ...process, code, reason })
    deps.owner.disconnected(process)
  }

  const listen = (port: number): Bun.Server<SocketData> =>
    Bun.serve<SocketData>({
      hostname: "127.0.0.1",
      port,
      // Without it a second process of this user could listen on the same port and be handed connections.
      reusePort: false,
      development: false,
      error: () => refusal(500),
      fetch: (request, server) => {
        const admitted = admit(request, port)
        if (admitted instanceof Response) return admitted
        const upgraded = server.upgrade(request, { data: { process: admitted, connection: undefined } })
        return upgraded ? undefined : refusal(426)
      },
      websocket: {
        maxPayloadLength: payloadMaxBytes,
        backpressureLimit: backpressureMaxBytes,
        closeOnBackpressureLimit: false,
        perMessageDeflate: false,
        open: accept,
        message: (socket, data) => socket.data.connection?.receive(data),
        drain: (socket) => socket.data.connection?.drained(),
        close: forget,
      },
    })

  const previous = store.meta.get("channel_port")
  const bound = bindInRange({
    range: deps.config.ports,
    preferred: previous === undefined ? undefined : Number(previous),
    start: ports.random(),
    bind: (port) => ({ port, server: listen(port) }),
  })
  if (!bound.ok) return bound
  const { port, server } = bound.value
  store.transaction(() => store.meta.set("channel_port", String(port)))
  ports.reach("channel.port_recorded")
  journal.record({
    event: "channel_listening",
    port,
    previous: previous === undefined ? null : Number(previous),
  })
  const stopPings = ports.timers.every(pingEveryMs, () => {
    for (const connection of connections.values()) connection.ping()
  })

  return ok({
    url: `ws://127.0.0.1:${port}${channelPath}`,
    port,
    previousPort: previous === undefined ? undefined : Number(previous),
    flush: (sessionId) => connections.get(sessionId)?.flush(),
    drop: ({ sessionId, generation }) => {
      const connection = connections.get(sessionId)
      if (connection?.process.generation === generation) connection.hangUp(goingAway, "the process has ended")
    },
    close: async () => {
      stopPings()
      for (const connection of connections.values()) connection.hangUp(goingAway, "the supervisor is ending")
      await within(ports.timers, closeTimeoutMs, server.stop(true))
    },
  })
}
