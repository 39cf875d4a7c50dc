/**
 * One follower of a Session's events.
 *
 * W1 it reads from the store by pages, as fast as its peer takes them: nothing is buffered for a slow one
 * W2 it sends every event once and in order, from the place where its peer stands, and a sign of life in silence
 * W3 it ends after the Session's last event, with its key, its peer or the server
 */
import type { OpenRequest } from "../open-requests.ts"
import type { Pages, Place, StreamPage } from "./pages.ts"
import type { Wakes } from "./wakes.ts"

export interface FollowDeps {
  readonly pages: Pages
  readonly wakes: Wakes
  readonly heartbeatMs: number
  readonly opened: OpenRequest
}

const heartbeat = ":\n\n"
const headers = {
  "Content-Type": "text/event-stream; charset=utf-8",
  "Cache-Control": "no-store",
  // For proxies that would gather events.
  "X-Accel-Buffering": "no",
}

type Pulled = { readonly text: string } | "end"

/** The next thing to send, when there is one (W2, W3). */
const puller = (place: Place, deps: FollowDeps) => {
  let { after } = place
  const { signal } = deps.opened
  return async (): Promise<Pulled> => {
    for (;;) {
      if (signal.aborted) return "end"
      const page = deps.pages.read({ ...place, after })
      if (!page.ok) return "end"
      after = page.value.next
      if (page.value.text !== "") return page.value
      if (page.value.ended) return "end"
      const woken = await deps.wakes.wait(page.value.rootId, deps.heartbeatMs, signal)
      if (woken === "ended") return "end"
      if (woken === "silence") return { text: heartbeat }
    }
  }
}

/** W1: the stream pulls when its peer has room. `first` is what has been read to judge the request. */
export const follow = (place: Place, first: StreamPage, deps: FollowDeps): Response => {
  const pull = puller({ ...place, after: first.next }, deps)
  const encoder = new TextEncoder()
  // A peer sees that it is connected before anything happens.
  let waiting: string | undefined = first.text === "" ? heartbeat : first.text
  let phase: "open" | "cancelled" = "open"
  const stream = new ReadableStream<Uint8Array>(
    {
      pull: async (controller) => {
        const pulled: Pulled = waiting === undefined ? await pull() : { text: waiting }
        waiting = undefined
        if (phase === "cancelled") return
        if (pulled !== "end") return controller.enqueue(encoder.encode(pulled.text))
        deps.opened.end()
        controller.close()
      },
      cancel: () => {
        phase = "cancelled"
        deps.opened.end()
      },
    },
    { highWaterMark: 0 },
  )
  return new Response(stream, { headers })
}
