/**
 * One connection of an event stream: its events until it ends, is cut or falls silent. The server writes something every
 * 15 s, so a silence of three times that is a connection that is not there any more.
 */
import { readEvent, readPlace } from "@computerd/protocol/api/event-reading"
import { eventRoutes, type SessionEvent as WireEvent } from "@computerd/protocol/api/events"
import { apiHeartbeatMs } from "@computerd/protocol/api/limits"
import type { Issue } from "@computerd/protocol/judge"
import { attempt, discard } from "../transport/attempt.ts"
import { deadline, pause } from "../transport/deadline.ts"
import type { Outcome } from "../transport/outcome.ts"
import { requestOf } from "../transport/request.ts"
import type { Transport } from "../transport/transport.ts"
import { createSseParser } from "./sse.ts"

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

export const eventProblem = ({ field, message }: Issue): string =>
  `${field === "" ? "an event" : `"${field}" of an event`} ${message}`

const parsed = (data: string): unknown => {
  try {
    return JSON.parse(data)
  } catch {
    return undefined
  }
}

const signalOf = (data: string): Signal => {
  const value = parsed(data)
  if (value === undefined) return { kind: "malformed", message: "an event is not JSON" }
  const place = readPlace(value)
  if (!place.ok) return { kind: "malformed", message: eventProblem(place.error) }
  const event = readEvent(place.value)
  if (!event.ok) return { kind: "malformed", message: eventProblem(event.error) }
  const { cursor, sequence } = place.value
  return event.value === undefined
    ? { kind: "unknown", cursor, sequence }
    : { kind: "event", event: event.value }
}

interface Chunk {
  readonly done: boolean
  readonly value?: Uint8Array | undefined
}

/** Pieces of the body until it ends, is cut, falls silent or is aborted; closes the connection then. */
const chunks = async function* (
  body: ReadableStream<Uint8Array>,
  signal: AbortSignal,
  { ports }: Transport,
): AsyncGenerator<Uint8Array | undefined> {
  const reader = body.getReader()
  const close = (): Promise<void> => reader.cancel().catch(() => undefined)
  const next = async (): Promise<Chunk> => {
    const heard = new AbortController()
    const silence = pause(silenceMaxMs, heard.signal, ports).then((): Chunk => ({ done: true }))
    try {
      // A cut connection is an end like any other: the reader goes on where it was.
      return await Promise.race([reader.read().catch((): Chunk => ({ done: true })), silence])
    } finally {
      heard.abort()
    }
  }
  // Also while its own reader takes its time.
  signal.addEventListener("abort", close, { once: true })
  try {
    if (signal.aborted) return
    for (let chunk = await next(); !chunk.done; chunk = await next()) yield chunk.value
  } finally {
    signal.removeEventListener("abort", close)
    await close()
  }
}

const read = async function* (pieces: AsyncIterable<Uint8Array | undefined>): AsyncGenerator<Signal> {
  const decoder = new TextDecoder()
  const parser = createSseParser()
  for await (const piece of pieces) {
    yield { kind: "life" }
    const events = parser.add(decoder.decode(piece, { stream: true }))
    if (events === undefined) yield { kind: "malformed", message: "an event is larger than any of this API" }
    for (const data of events ?? []) yield signalOf(data)
  }
}

/** Judges an answer of success by what its head says. */
const opened = async (
  response: Response,
  signal: AbortSignal,
  transport: Transport,
): Promise<Outcome<Opened>> => {
  const { status, headers, body } = response
  const type = headers.get("content-type") ?? ""
  if (status === 200 && body !== null && type.startsWith("text/event-stream"))
    return { kind: "answered", value: { kind: "open", signals: read(chunks(body, signal, transport)) } }
  await discard(response)
  return status === 204
    ? { kind: "answered", value: { kind: "over" } }
    : { kind: "unexpected", message: "the answer is no event stream" }
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
      (response) => opened(response, signal, transport),
    )
  } finally {
    own.release()
  }
}
