/**
 * One connection of an event stream: its events until it ends, is cut or falls silent. The server writes something every
 * 15 s, so a silence of three times that is a connection that is not there any more.
 */
import { readEvent, readPlace } from "@computerd/protocol/api/event-reading"
import { eventRoutes, type SessionEvent as WireEvent } from "@computerd/protocol/api/events"
import { apiHeartbeatMs } from "@computerd/protocol/api/limits"
import { attempt } from "../transport/attempt.ts"
import { deadline } from "../transport/deadline.ts"
import type { Outcome } from "../transport/outcome.ts"
import { requestOf } from "../transport/request.ts"
import type { Transport } from "../transport/transport.ts"
import { createSseParser, type ServerSentEvent } from "./sse.ts"

export interface Place {
  readonly sessionId: string
  readonly tree: boolean
  /** The cursor of the last event that was seen. */
  readonly after: string | undefined
}

/** `life`: the connection is there, though nothing happened; `unknown`: an event of a type that is not known here. */
export type Signal =
  | { readonly kind: "event"; readonly event: WireEvent }
  | { readonly kind: "unknown"; readonly cursor: string; readonly sequence: number }
  | { readonly kind: "life" }
  | { readonly kind: "malformed"; readonly message: string }

/** `over`: nothing follows and nothing will. */
export type Opened =
  | { readonly kind: "over" }
  | { readonly kind: "open"; readonly signals: AsyncIterable<Signal> }

const silenceMaxMs = 3 * apiHeartbeatMs
const openMaxMs = 20_000

const parsed = (data: string): unknown => {
  try {
    return JSON.parse(data)
  } catch {
    return undefined
  }
}

const signalOf = ({ data }: ServerSentEvent): Signal => {
  const place = readPlace(parsed(data))
  if (!place.ok)
    return { kind: "malformed", message: `"${place.error.field}" of an event ${place.error.message}` }
  const event = readEvent(place.value)
  if (!event.ok)
    return { kind: "malformed", message: `"${event.error.field}" of an event ${event.error.message}` }
  const { cursor, sequence } = place.value
  return event.value === undefined
    ? { kind: "unknown", cursor, sequence }
    : { kind: "event", event: event.value }
}

interface Chunk {
  readonly done: boolean
  readonly value?: Uint8Array | undefined
}

/** Ends when the connection does, however it does; closes it when its reader stops. */
const read = async function* (
  body: ReadableStream<Uint8Array>,
  signal: AbortSignal,
  { ports }: Transport,
): AsyncGenerator<Signal> {
  const reader = body.getReader()
  const decoder = new TextDecoder()
  const parser = createSseParser()
  const next = async (): Promise<Chunk | undefined> => {
    const limit = deadline(silenceMaxMs, [signal], ports)
    const silent = new Promise<undefined>((resolve) => {
      if (limit.signal.aborted) resolve(undefined)
      else limit.signal.addEventListener("abort", () => resolve(undefined), { once: true })
    })
    try {
      // A cut connection is an end like any other: the reader goes on where it was.
      return await Promise.race([reader.read().catch(() => undefined), silent])
    } finally {
      limit.release()
    }
  }
  try {
    for (let chunk = await next(); chunk !== undefined && !chunk.done; chunk = await next()) {
      yield { kind: "life" }
      const messages = parser.add(decoder.decode(chunk.value, { stream: true }))
      if (messages === undefined)
        yield { kind: "malformed", message: "an event is larger than any of this API" }
      for (const message of messages ?? []) yield signalOf(message)
    }
  } finally {
    await reader.cancel().catch(() => undefined)
  }
}

export const openStream = async (
  { sessionId, tree, after }: Place,
  signal: AbortSignal,
  transport: Transport,
): Promise<Outcome<Opened>> => {
  const { connection, ports } = transport
  const request = requestOf({
    route: eventRoutes.stream,
    params: { sessionId },
    query: { after, tree: tree ? "true" : "false" },
    body: undefined,
  })
  const own = deadline(openMaxMs, [signal], ports)
  try {
    return await attempt(
      // Released once the stream is open: its reader then ends it.
      { request, accept: "text/event-stream", signal: own.signal },
      { connection, fetch: ports.fetch },
      async (response): Promise<Outcome<Opened>> => {
        if (response.status === 204) return { kind: "answered", value: { kind: "over" } }
        const type = response.headers.get("content-type") ?? ""
        if (response.body === null || !type.startsWith("text/event-stream"))
          return { kind: "unexpected", message: "the answer is no event stream" }
        return { kind: "answered", value: { kind: "open", signals: read(response.body, signal, transport) } }
      },
    )
  } finally {
    own.release()
  }
}
