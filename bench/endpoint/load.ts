/**
 * The client: one process, plain sockets with keep-alive, one request in flight on each. It takes one job a line on
 * standard input and answers with one line. It parses no more than it needs to find the end of a response.
 */

export interface Job {
  readonly port: number
  readonly connections: number
  readonly millis: number
  readonly body: string
  readonly headers: Readonly<Record<string, string>>
}

export interface Outcome {
  readonly requests: number
  readonly millis: number
  readonly p50: number
  readonly p99: number
  readonly failed: number
}

const requestBytes = ({ port, body, headers }: Job): Buffer => {
  const all = { Host: `127.0.0.1:${port}`, ...headers, "Content-Length": String(Buffer.byteLength(body)) }
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}`)
  return Buffer.from(`POST /mcp HTTP/1.1\r\n${lines.join("\r\n")}\r\n\r\n${body}`)
}

const chunkedEnd = Buffer.from("0\r\n\r\n")

/** How many bytes the response has in all; `"chunked"` when only its end tells. */
const frameOf = (head: string): number | "chunked" | undefined => {
  const end = head.indexOf("\r\n\r\n")
  if (end === -1) return undefined
  const length = /content-length: (\d+)/i.exec(head)?.[1]
  return length === undefined ? "chunked" : end + 4 + Number(length)
}

const runConnection = (
  job: Job,
  bytes: Buffer,
  until: () => boolean,
  record: (millis: number, ok: boolean) => void,
) =>
  new Promise<void>((resolve) => {
    let sentMs = 0
    let have = 0
    let frame: number | "chunked" | undefined
    let ok = true
    void Bun.connect({
      hostname: "127.0.0.1",
      port: job.port,
      socket: {
        open: (socket) => {
          sentMs = performance.now()
          socket.write(bytes)
        },
        data: (socket, data) => {
          if (frame === undefined) {
            const head = data.toString("latin1")
            frame = frameOf(head)
            ok = head.startsWith("HTTP/1.1 200")
          }
          have += data.length
          const done =
            frame === "chunked" ? data.subarray(-5).equals(chunkedEnd) : have >= (frame ?? Number.MAX_VALUE)
          if (!done) return
          const nowMs = performance.now()
          record(nowMs - sentMs, ok)
          have = 0
          frame = undefined
          if (until()) {
            socket.end()
            return resolve()
          }
          sentMs = nowMs
          socket.write(bytes)
        },
        close: () => resolve(),
        error: () => resolve(),
        connectError: () => resolve(),
      },
    }).catch(() => resolve())
  })

const at = (sorted: Float64Array, share: number): number =>
  sorted[Math.floor((sorted.length - 1) * share)] ?? 0

export const runJob = async (job: Job): Promise<Outcome> => {
  const bytes = requestBytes(job)
  const latencies: number[] = []
  let failed = 0
  const startMs = performance.now()
  const until = () => performance.now() - startMs >= job.millis
  const record = (millis: number, ok: boolean): void => {
    latencies.push(millis)
    if (!ok) failed += 1
  }
  await Promise.all(Array.from({ length: job.connections }, () => runConnection(job, bytes, until, record)))
  const millis = performance.now() - startMs
  const sorted = Float64Array.from(latencies).sort()
  return { requests: latencies.length, millis, p50: at(sorted, 0.5), p99: at(sorted, 0.99), failed }
}

if (import.meta.main)
  for await (const line of console) console.log(JSON.stringify(await runJob(JSON.parse(line))))
