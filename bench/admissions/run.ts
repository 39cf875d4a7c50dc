/**
 * Admissions a second through the whole path: HTTP client → MCP endpoint → link → receiver → SQLite and back, with the
 * supervisor, the control plane and the client each a process of its own, against one-row commits of bun:sqlite with
 * the same settings in the same run. Slices alternate; the median of the ratios of each round is printed.
 *
 *   bun admissions/run.ts [rounds] [slice ms] [connections,…]
 */
import { createBareCommits } from "../receiver/commits.ts"
import { quantile, type Slice, timed } from "../timing.ts"

const [rounds = "7", sliceMs = "1000", connections = "1,32,64"] = process.argv.slice(2)
const slice = Number(sliceMs)

const plane = Bun.spawn([process.execPath, `${import.meta.dir}/plane.ts`], {
  stdin: "pipe",
  stdout: "pipe",
  stderr: "inherit",
})
const firstLine = async (): Promise<string> => {
  let text = ""
  for await (const chunk of plane.stdout) {
    text += new TextDecoder().decode(chunk)
    if (text.includes("\n")) return text.slice(0, text.indexOf("\n"))
  }
  throw new Error("the control plane ended before its Session was ready")
}
const { url, headers, sessionId } = JSON.parse(await firstLine())

const call = async (name: string, args: object): Promise<void> => {
  const response = await fetch(url, {
    method: "POST",
    headers: {
      ...headers,
      "Content-Type": "application/json",
      Accept: "application/json, text/event-stream",
      "MCP-Protocol-Version": "2025-11-25",
    },
    body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/call", params: { name, arguments: args } }),
  })
  const { result } = await response.json()
  if (result?.isError !== false && result?.isError !== undefined) throw new Error(result.content[0].text)
}

const input = [{ type: "text", text: "work" }]
const operations: Readonly<Record<string, () => Promise<void>>> = {
  enqueue: () => call("enqueue", { sessionId, input, idempotencyKey: crypto.randomUUID() }),
  inspect_session: () => call("inspect_session", { sessionId }),
}

const bare = createBareCommits()
const bareSlice = (): number => {
  const start = performance.now()
  let commits = 0
  for (; performance.now() - start < slice; commits += 1) bare.commit()
  return (commits * 1000) / slice
}

const rows: Record<string, string | number>[] = []
for (const [name, operation] of Object.entries(operations)) {
  for (const atOnce of connections.split(",").map(Number)) {
    await timed({ lengthMs: slice, atOnce }, operation)
    const measured: { readonly ours: Slice; readonly commits: number }[] = []
    for (let round = 0; round < Number(rounds); round += 1)
      measured.push({ commits: bareSlice(), ours: await timed({ lengthMs: slice, atOnce }, operation) })
    const median = (of: (one: (typeof measured)[number]) => number): number => quantile(measured.map(of), 0.5)
    rows.push({
      operation: name,
      connections: atOnce,
      "a second": Math.round(median(({ ours }) => ours.rate)),
      "bare commits": Math.round(median(({ commits }) => commits)),
      ratio: Number(median(({ ours, commits }) => ours.rate / commits).toFixed(2)),
      "p99 ms": Number(median(({ ours }) => ours.p99).toFixed(2)),
    })
  }
}
bare.close()
console.table(rows)
plane.stdin.end()
await plane.exited
