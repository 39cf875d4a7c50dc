/** Turns: read, and wait for the end of one. */
import { turnRoutes } from "@computerd/protocol/api/turns"
import { type ApiParts, reading, revoked, type Served } from "../call.ts"
import { bounded } from "./page.ts"

const waiting = ({ receiver, settings, open }: ApiParts): Served =>
  reading(turnRoutes.wait, async ({ holder, params, query, request }) => {
    const opened = open.open(holder.id)
    if (!opened.ok) return opened
    try {
      const signal = AbortSignal.any([request.signal, opened.value.signal])
      const timeoutMs = Math.min(query.timeoutMs, settings.waitMaxMs)
      const waited = await receiver.outside.wait(holder.environment, { ...params, timeoutMs }, signal)
      return opened.value.signal.aborted ? revoked : waited
    } finally {
      opened.value.end()
    }
  })

export const turnCalls = (parts: ApiParts): readonly Served[] => {
  const { read } = parts.receiver.outside
  return [
    reading(turnRoutes.list, ({ holder, params, query }) =>
      read.turns(holder.environment, params.sessionId, bounded(query, parts.settings)),
    ),
    reading(turnRoutes.get, ({ holder, params }) => read.turn(holder.environment, params)),
    waiting(parts),
  ]
}
