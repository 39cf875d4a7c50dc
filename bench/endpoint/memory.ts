/**
 * What a listener costs while it idles: many are opened in one process, each serves its tool list and its skill once,
 * and the growth of the process is divided by their number.
 *
 *   bun endpoint/memory.ts [listeners]
 */
import { heapStats } from "bun:jsc"
import { benchEndpoint } from "./our-endpoint.ts"
import { bodies, token } from "./workload.ts"

const count = Number(process.argv[2] ?? 200)

const settle = async (): Promise<{ readonly rss: number; readonly heap: number }> => {
  for (let round = 0; round < 5; round += 1) {
    Bun.gc(true)
    await Bun.sleep(20)
  }
  return { rss: process.memoryUsage.rss(), heap: heapStats().heapSize }
}

const use = async (url: string): Promise<void> => {
  const headers = { Authorization: token, "Content-Type": "application/json", Connection: "close" }
  for (const body of [bodies.list, bodies.skills])
    await (await fetch(url, { method: "POST", headers, body })).text()
}

// The first ones pay for code and pools that all share.
const warm = Array.from({ length: 20 }, benchEndpoint)
for (const endpoint of warm) await use(endpoint.url)
const before = await settle()
const opened = Array.from({ length: count }, benchEndpoint)
const listening = await settle()
for (const endpoint of opened) await use(endpoint.url)
const used = await settle()

const perListener = (later: number, earlier: number): string =>
  `${((later - earlier) / count / 1024).toFixed(1)} KB`
console.log(`${count} listeners in one process, each:`)
console.log(
  `  bound, never used       rss ${perListener(listening.rss, before.rss)}, heap ${perListener(listening.heap, before.heap)}`,
)
console.log(
  `  served once, then idle  rss ${perListener(used.rss, before.rss)}, heap ${perListener(used.heap, before.heap)}`,
)
await Promise.all([...warm, ...opened].map((endpoint) => endpoint.close("exited")))
