import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test"
import { mkdtemp, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { apiKey, id, refusal, serve, serveBytes } from "./fake.ts"

setDefaultTimeout(30_000)

let directory: string
beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), "client-"))
  const built = await Bun.build({
    entrypoints: [Bun.resolveSync("@helmr/sdk", import.meta.dir)],
    target: "node",
    outdir: directory,
    naming: "sdk.mjs",
  })
  if (!built.success) throw new AggregateError(built.logs)
})
afterAll(() => rm(directory, { recursive: true }))

/** What the script prints, as JSON. It has no `process.exit`: it ends when nothing is left that holds it. */
const run = async (command: string, url: string, script: string): Promise<unknown> => {
  const file = join(directory, "script.mjs")
  await Bun.write(
    file,
    `import { HelmrClient, HelmrError } from "./sdk.mjs"
    const [baseUrl] = process.argv.slice(2)
    const client = new HelmrClient({ baseUrl, apiKey: ${JSON.stringify(apiKey)} })
    const session = client.sessions.handle(${JSON.stringify(id("ses"))})
    const codeOf = (promise) => promise.then(() => "fine", (error) => error instanceof HelmrError ? (error.reason ?? error.code) : String(error))
    const say = (value) => console.log(JSON.stringify(value))
    ${script}`,
  )
  const child = Bun.spawn([command, file, url], { stdout: "pipe", stderr: "pipe" })
  const [out, err, code] = await Promise.all([child.stdout.text(), child.stderr.text(), child.exited])
  if (code !== 0) throw new Error(err)
  return JSON.parse(out)
}

const runtimes = [
  { name: "Bun", command: process.execPath },
  { name: "Node", command: "node" },
]

test.each(runtimes)(
  "in $name a cut answer is asked for again, and a redirect is not followed",
  async ({ command }) => {
    const bytes = await serveBytes((socket, head, number) => {
      if (number === 0) socket.destroy()
      else if (number === 1) socket.end('HTTP/1.1 200 OK\r\nContent-Length: 15\r\n\r\n{"sess')
      else if (number === 2)
        socket.end('HTTP/1.1 200 OK\r\nContent-Length: 15\r\nConnection: close\r\n\r\n{"sessions":[]}')
      else if (head.startsWith("GET"))
        socket.end("HTTP/1.1 302 Found\r\nLocation: /elsewhere\r\nContent-Length: 0\r\n\r\n")
    })
    try {
      const told = await run(
        command,
        bytes.url,
        "say([await client.sessions.list(), await codeOf(client.sessions.list())])",
      )
      expect(told).toEqual([{ sessions: [] }, "unexpected_answer"])
      expect(bytes.asked()).toBe(4)
    } finally {
      await bytes.close()
    }
  },
)

test.each(runtimes)(
  "in $name aborts and times end a call, with nothing left that keeps the process",
  async ({ command }) => {
    const bytes = await serveBytes(() => undefined)
    try {
      const told = await run(
        command,
        bytes.url,
        `const abort = new AbortController()
      setTimeout(() => abort.abort(new Error("enough")), 50)
      say([
        await codeOf(session.interrupt({ signal: abort.signal })),
        await codeOf(session.interrupt({ timeoutMs: 50 })),
        await codeOf(client.deployments.publish({ archive: new Uint8Array(1e7) }, { timeoutMs: 50 })),
      ])`,
      )
      expect(told).toEqual(["Error: enough", "timeout", "timeout"])
    } finally {
      await bytes.close()
    }
  },
)

test.each(runtimes)(
  "in $name a stream goes on after a cut, ends when it is left, and lets the process end",
  async ({ command }) => {
    const frame = (sequence: number): string =>
      `data: ${JSON.stringify({
        cursor: `c${sequence}`,
        sequence,
        sessionId: id("ses"),
        at: "2026-12-01T00:00:00.000Z",
        type: "turn_started",
        turnId: id("trn"),
      })}\n\n`
    const http = serve((request, number) => {
      if (number === 2) return refusal("unauthorized", 401)
      const after = Number(new URL(request.url).searchParams.get("after")?.slice(1) ?? 0)
      const text = new TextEncoder().encode(frame(after + 1) + frame(after + 2))
      const body = new ReadableStream({
        start: (controller) => {
          controller.enqueue(text)
          if (number === 0) controller.close()
        },
      })
      return new Response(body, { headers: { "content-type": "text/event-stream" } })
    })
    try {
      const told = await run(
        command,
        http.url,
        `const seen = []
      for await (const { sequence } of session.events.stream()) if (seen.push(sequence) === 3) break
      say([seen, await codeOf(session.events.stream()[Symbol.asyncIterator]().next())])`,
      )
      expect(told).toEqual([[1, 2, 3], "unauthorized"])
    } finally {
      await http.close()
    }
  },
)
