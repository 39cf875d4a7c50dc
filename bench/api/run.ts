/**
 * The public API against the same requests at bare `Bun.serve` and at Elysia, each a process of its own: reads, mutations
 * with a commit each, and one Session's events to 100 followers. Slices go around among all; ratios are taken within a
 * round and their median is printed.
 *
 *   bun api/run.ts [rounds] [slice ms] [connections,…] [followers]
 */
import { HelmrClient } from "../../sdk/client/client.ts"
import { quantile, type Slice, timed } from "../timing.ts"

const [rounds = "7", sliceMs = "1000", connections = "1,32", followers = "100"] = process.argv.slice(2)
const slice = Number(sliceMs)

interface Server {
  readonly name: string
  readonly url: string
  readonly key: string
  readonly sessionId: string
  readonly end: () => Promise<unknown>
}

const start = async (name: string, ...command: readonly string[]): Promise<Server> => {
  const child = Bun.spawn([process.execPath, ...command], {
    stdin: "pipe",
    stdout: "pipe",
    stderr: "inherit",
  })
  let text = ""
  for await (const chunk of child.stdout) {
    text += new TextDecoder().decode(chunk)
    if (text.includes("\n")) break
  }
  const end = async (): Promise<unknown> => {
    await child.stdin.end()
    return child.exited
  }
  return { name, ...JSON.parse(text), end }
}

const headersOf = ({ key }: Server): Record<string, string> => ({
  Authorization: `Bearer ${key}`,
  "Content-Type": "application/json",
})

const read = async (server: Server): Promise<void> => {
  const response = await fetch(`${server.url}/v1/sessions/${server.sessionId}`, {
    headers: headersOf(server),
  })
  if (!response.ok) throw new Error(await response.text())
  await response.json()
}

const enqueue = async (server: Server): Promise<void> => {
  const response = await fetch(`${server.url}/v1/sessions/${server.sessionId}/enqueue`, {
    method: "POST",
    headers: headersOf(server),
    body: JSON.stringify({ input: [{ type: "text", text: "work" }], idempotencyKey: crypto.randomUUID() }),
  })
  if (response.status !== 201) throw new Error(await response.text())
  await response.json()
}

/** Until every follower has seen every event; deliveries a second. */
const fanOut = async (server: Server, events: number): Promise<Slice> => {
  const ends = new AbortController()
  const opened: Promise<void>[] = []
  const seen: Promise<void>[] = []
  const decoder = new TextDecoder()
  for (let one = 0; one < Number(followers); one += 1) {
    const open = Promise.withResolvers<void>()
    const all = Promise.withResolvers<void>()
    opened.push(open.promise)
    seen.push(all.promise)
    void (async () => {
      const last = fresh.get(server.name)
      const response = await fetch(`${server.url}/v1/sessions/${server.sessionId}/events/stream`, {
        headers: { ...headersOf(server), ...(last === undefined ? {} : { "Last-Event-ID": last }) },
        signal: ends.signal,
      })
      let left = events
      try {
        for await (const chunk of response.body ?? []) {
          open.resolve()
          const text = decoder.decode(chunk, { stream: true })
          left -= text.split("event: turn_queued").length - 1
          if (left <= 0) all.resolve()
        }
      } catch {
        // Ended below.
      }
    })()
  }
  await Promise.all(opened)
  const begun = performance.now()
  for (let one = 0; one < events; one += 1) await enqueue(server)
  await Promise.all(seen)
  const tookMs = performance.now() - begun
  ends.abort()
  return { rate: (events * Number(followers) * 1000) / tookMs, p99: Number.NaN }
}

/** Where the events of before end, so that every round follows new ones alone. */
const fresh = new Map<string, string>()
const place = async (server: Server): Promise<void> => {
  const { sessions } = new HelmrClient({ baseUrl: server.url, apiKey: server.key })
  const events = sessions.handle(server.sessionId).events
  let after: string | undefined
  for (;;) {
    const page = await events.list({ after, limit: 100 })
    after = page.nextCursor ?? after
    if (!page.more) break
  }
  if (after !== undefined) fresh.set(server.name, after)
}

const ours = await start("computerd", `${import.meta.dir}/our-server.ts`)
const peers = [
  await start("Bun.serve", `${import.meta.dir}/peers.ts`, "raw"),
  await start("Elysia", `${import.meta.dir}/peers.ts`, "elysia"),
]
const servers = [ours, ...peers]
const client = new HelmrClient({ baseUrl: ours.url, apiKey: ours.key })

interface Contest {
  readonly name: string
  readonly run: (server: Server) => Promise<Slice>
}

const contests: readonly Contest[] = [
  ...connections.split(",").flatMap((count): readonly Contest[] => [
    {
      name: `read a Session, ${count} at once`,
      run: (server) => timed({ lengthMs: slice, atOnce: Number(count) }, () => read(server)),
    },
    {
      name: `enqueue, ${count} at once`,
      run: (server) => timed({ lengthMs: slice, atOnce: Number(count) }, () => enqueue(server)),
    },
  ]),
  {
    name: `events to ${followers} followers`,
    run: async (server) => {
      if (server === ours) await place(server)
      return fanOut(server, 100)
    },
  },
]

const rows: Record<string, string | number>[] = []
for (const { name, run } of contests) {
  const measured: (readonly Slice[])[] = []
  for (let round = 0; round < Number(rounds); round += 1) {
    const slices: Slice[] = []
    for (const server of servers) slices.push(await run(server))
    measured.push(slices)
  }
  const median = (of: (slices: readonly Slice[]) => number): number => quantile(measured.map(of), 0.5)
  const rate = (slices: readonly Slice[], at: number): number => slices[at]?.rate ?? Number.NaN
  rows.push({
    what: name,
    "a second": Math.round(median((slices) => rate(slices, 0))),
    "p99 ms": Number(median((slices) => slices[0]?.p99 ?? Number.NaN).toFixed(2)),
    "of Bun.serve": Number(median((slices) => rate(slices, 0) / rate(slices, 1)).toFixed(2)),
    "of Elysia": Number(median((slices) => rate(slices, 0) / rate(slices, 2)).toFixed(2)),
  })
}
const viaClient: number[] = []
for (let round = 0; round < Number(rounds); round += 1) {
  const byFetch = await timed({ lengthMs: slice, atOnce: 1 }, () => read(ours))
  const byClient = await timed({ lengthMs: slice, atOnce: 1 }, () => client.sessions.get(ours.sessionId))
  viaClient.push(byClient.rate / byFetch.rate)
}
console.table(rows)
console.log(`HelmrClient of plain fetch, reading at 1: ${quantile(viaClient, 0.5).toFixed(2)}`)
for (const server of servers) await server.end()
