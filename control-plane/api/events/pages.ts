/**
 * Pages of events as text for streams. Followers that stand at the same place read and encode one page together; what is
 * kept for them is dropped when something new has happened, and is bounded.
 */
import type { SessionEvent } from "@computerd/protocol/api/events"
import { apiPageMax } from "@computerd/protocol/api/limits"
import { ok, type Result } from "@computerd/protocol/errors"
import type { EnvironmentKey, SessionId } from "@computerd/protocol/ids"
import type { ReadEvents } from "../../receiver/outside/events.ts"

export interface Place {
  readonly environment: EnvironmentKey
  readonly sessionId: SessionId
  readonly tree: boolean
  readonly after: string | undefined
}

export interface StreamPage {
  /** Empty when nothing is new. */
  readonly text: string
  readonly next: string | undefined
  readonly more: boolean
  readonly rootId: SessionId
  readonly ended: boolean
}

export interface Pages {
  readonly read: (place: Place) => Result<StreamPage>
  readonly forget: () => void
}

const keptMax = 256

const frame = (event: SessionEvent): string =>
  `id: ${event.cursor}\nevent: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`

export const createPages = (readEvents: ReadEvents): Pages => {
  const kept = new Map<string, StreamPage>()

  const load = ({ environment, ...asked }: Place): Result<StreamPage> => {
    const read = readEvents(environment, { ...asked, limit: apiPageMax })
    if (!read.ok) return read
    const { page, rootId, ended } = read.value
    const text = page.events.map(frame).join("")
    return ok({ text, next: page.nextCursor, more: page.more, rootId, ended })
  }

  return {
    read: (place) => {
      const key = JSON.stringify([place.environment, place.sessionId, place.tree, place.after])
      const known = kept.get(key)
      if (known !== undefined) return ok(known)
      const loaded = load(place)
      if (!loaded.ok) return loaded
      if (kept.size >= keptMax) kept.clear()
      kept.set(key, loaded.value)
      return loaded
    },
    forget: () => kept.clear(),
  }
}
