/** A follower of events, as a stock reader of server-sent events behaves: it resumes after the last id that it saw. */
import type { ApiClient } from "./rig.ts"

export interface SeenEvent {
  readonly id: string
  readonly type: string
  readonly sequence: number
  readonly sessionId: string
  readonly data: Readonly<Record<string, unknown>>
}

const eventOf = (block: string): SeenEvent | undefined => {
  const fields = new Map(
    block
      .split("\n")
      .filter((line) => !line.startsWith(":"))
      .map((line) => [line.slice(0, line.indexOf(": ")), line.slice(line.indexOf(": ") + 2)] as const),
  )
  const data = fields.get("data")
  if (data === undefined) return undefined
  const parsed = JSON.parse(data)
  return {
    id: fields.get("id") ?? "",
    type: fields.get("event") ?? "",
    sequence: parsed.sequence,
    sessionId: parsed.sessionId,
    data: parsed,
  }
}

export interface Follower {
  readonly seen: SeenEvent[]
  readonly comments: () => number
  readonly status: number
  /** Cuts the connection. */
  readonly cut: () => void
  /** Resolves when the stream is over, by whichever side. */
  readonly over: Promise<void>
  readonly until: (done: (seen: readonly SeenEvent[]) => boolean) => Promise<readonly SeenEvent[]>
}

export const connect = async (
  client: ApiClient,
  url: string,
  path: string,
  seen: SeenEvent[] = [],
): Promise<Follower> => {
  const cutter = new AbortController()
  const last = seen.at(-1)?.id
  const response = await fetch(`${url}${path}`, {
    signal: cutter.signal,
    headers: {
      Authorization: `Bearer ${client.key}`,
      ...(last === undefined ? {} : { "Last-Event-ID": last }),
    },
  })
  let comments = 0
  const watchers = new Set<() => void>()
  const read = async (): Promise<void> => {
    if (response.body === null) return
    let text = ""
    const decoder = new TextDecoder()
    try {
      for await (const chunk of response.body) {
        text += decoder.decode(chunk, { stream: true })
        const blocks = text.split("\n\n")
        text = blocks.pop() ?? ""
        for (const block of blocks) {
          const event = eventOf(block)
          if (event === undefined) comments += 1
          else seen.push(event)
        }
        for (const look of watchers) look()
      }
    } catch {
      // Cut.
    }
  }
  const over = read()
  return {
    seen,
    comments: () => comments,
    status: response.status,
    cut: () => cutter.abort(),
    over,
    until: async (done) => {
      const { promise, resolve } = Promise.withResolvers<void>()
      const look = (): void => {
        if (done(seen)) resolve()
      }
      watchers.add(look)
      look()
      await promise
      watchers.delete(look)
      return seen
    },
  }
}
