/** Events: pages, and streams of those who follow. */
import { eventRoutes } from "@computerd/protocol/api/events"
import { ok } from "@computerd/protocol/errors"
import { type ApiParts, reading, type Served, special } from "../call.ts"
import { follow } from "../events/follow.ts"
import type { Pages } from "../events/pages.ts"
import type { Wakes } from "../events/wakes.ts"
import { refusal } from "../refusal.ts"
import { bounded } from "./page.ts"

export interface EventParts extends ApiParts {
  readonly pages: Pages
  readonly wakes: Wakes
}

/** A reconnecting peer names the last event that it saw in this header. */
const lastSeen = "last-event-id"

const streaming = (parts: EventParts): Served =>
  special(eventRoutes.stream, async ({ holder, params, query, request }) => {
    const { environment } = holder
    const after = request.headers.get(lastSeen) ?? query.after
    const place = { environment, sessionId: params.sessionId, tree: query.tree === "true", after }
    const first = parts.pages.read(place)
    if (!first.ok) return refusal(first.error)
    if (first.value.ended && first.value.text === "") return new Response(null, { status: 204 })
    const opened = parts.open.open(holder.id)
    if (!opened.ok) return refusal(opened.error)
    const { pages, wakes, settings } = parts
    return follow(place, first.value, {
      pages,
      wakes,
      heartbeatMs: settings.heartbeatMs,
      opened: opened.value,
    })
  })

export const eventCalls = (parts: EventParts): readonly Served[] => [
  reading(eventRoutes.list, ({ holder, params, query }) => {
    const { limit } = bounded(query, parts.settings)
    const tree = query.tree === "true"
    const asked = { ...params, tree, after: query.after, limit }
    const read = parts.receiver.outside.events(holder.environment, asked)
    return read.ok ? ok(read.value.page) : read
  }),
  streaming(parts),
]
