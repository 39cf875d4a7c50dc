/** `session.events`: what happened, in pages and as it happens. */
import { readEvent, readPageRoute } from "@computerd/protocol/api/event-reading"
import type { HelmrError } from "../../error.ts"
import { HelmrConnectionError } from "../errors.ts"
import type { CallOptions } from "../options.ts"
import type { Transport } from "../transport/transport.ts"
import { eventProblem } from "./connection.ts"
import { follow } from "./follow.ts"
import type { EventPage, SessionEvent } from "./types.ts"

interface EventFilter {
  /** The cursor of the last event that was seen. Absent: from the beginning. */
  readonly after?: string | undefined
  /** Also the events of the Session's descendants, those to come included. */
  readonly tree?: boolean | undefined
}

export interface ListEventsOptions extends EventFilter, CallOptions {
  /** At most 100. Default: 50. */
  readonly limit?: number | undefined
}

export interface StreamEventsOptions extends EventFilter {
  /** Ends the stream without an error. */
  readonly signal?: AbortSignal | undefined
  /** How long it tries to connect again without a sign of life, or waits because the server asks to. Default: 120 s. */
  readonly giveUpAfterMs?: number | undefined
  /** Told of each connection that was lost or could not be made, before it is tried again. */
  readonly onLost?: ((error: HelmrError) => void) | undefined
}

export interface Events {
  /** Oldest first. */
  readonly list: (options?: ListEventsOptions) => Promise<EventPage>
  /**
   * Every event once and in order, over as many connections as it takes, to each loop over it. Ends after the Session's
   * last event and when `signal` aborts; throws when the key is revoked, or when the server cannot be reached for too long.
   */
  readonly stream: (options?: StreamEventsOptions) => AsyncIterable<SessionEvent>
}

const giveUpDefaultMs = 120_000

const words = (tree: boolean | undefined): "true" | "false" => (tree === true ? "true" : "false")

const list = async (
  transport: Transport,
  sessionId: string,
  { after, tree, limit, ...settings }: ListEventsOptions,
): Promise<EventPage> => {
  const query = { after, limit, tree: words(tree) }
  const page = await transport.call(
    { route: readPageRoute, params: { sessionId }, query, body: undefined },
    settings,
  )
  const events = page.events.flatMap((event) => {
    const read = readEvent(event)
    if (!read.ok) throw new HelmrConnectionError("unexpected_answer", `the page: ${eventProblem(read.error)}`)
    return read.value === undefined ? [] : [read.value]
  })
  return { ...page, events }
}

/** A reading of its own for each loop. */
const stream = (
  transport: Transport,
  sessionId: string,
  { after, tree = false, signal, giveUpAfterMs = giveUpDefaultMs, onLost }: StreamEventsOptions,
): AsyncIterable<SessionEvent> => ({
  [Symbol.asyncIterator]: () => {
    const stop = new AbortController()
    const signals = [signal, transport.connection.signal, stop.signal]
    const events = follow({ sessionId, tree, after, giveUpAfterMs, onLost, signals }, transport)
    return {
      next: () => events.next(),
      // A generator alone would first wait for the event that it was asked for.
      return: () => {
        stop.abort()
        return events.return(undefined)
      },
    }
  },
})

export const createEvents = (transport: Transport, sessionId: string): Events => ({
  list: (options = {}) => list(transport, sessionId, options),
  stream: (options = {}) => stream(transport, sessionId, options),
})
