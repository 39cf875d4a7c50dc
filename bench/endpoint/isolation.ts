/**
 * What a flood on one Session's listener does to another listener of the same supervisor. The same flood against a
 * server in another process shows what is owed to the machine alone.
 *
 *   bun endpoint/isolation.ts [rounds] [slice ms] [flooding connections]
 */
import { join } from "node:path"
import { type Client, contenders, startClient, startContender } from "./servers.ts"
import { bodies } from "./workload.ts"

const [rounds = "7", sliceMs = "600", flooding = "128"] = process.argv.slice(2)

const ours = contenders.find(({ file }) => file === "ours")!
const raw = contenders.find(({ file }) => file === "raw")!

const pair = Bun.spawn([process.execPath, join(import.meta.dir, "peers/two.ts")], {
  stdout: "pipe",
  stderr: "inherit",
})
const { value } = await pair.stdout.getReader().read()
const [floodedPort = 0, watchedPort = 0] = new TextDecoder().decode(value).trim().split(" ").map(Number)
const elsewhere = await startContender(raw)
const [flood, watch] = [startClient(), startClient()]

const load = (client: Client, port: number, connections: number, millis: number) =>
  client.run({ port, connections, millis, body: bodies.skills, headers: ours.headers })

interface Latency {
  readonly p50: number
  readonly p99: number
}

/** Of a steady small load on the watched listener while `flooded` is hammered. */
const watched = async (flooded: number | undefined): Promise<Latency> => {
  const noise =
    flooded === undefined ? undefined : load(flood, flooded, Number(flooding), Number(sliceMs) + 200)
  await Bun.sleep(100)
  const { p50, p99, failed } = await load(watch, watchedPort, 4, Number(sliceMs))
  await noise
  if (failed > 0) throw new Error("the watched listener refused")
  return { p50, p99 }
}

const median = (values: readonly number[]): number =>
  [...values].sort((a, b) => a - b)[values.length >> 1] ?? 0

const quiet: Latency[] = []
const other: Latency[] = []
const same: Latency[] = []

const line = (name: string, slices: readonly Latency[]): string =>
  `  ${name.padEnd(44)}p50 ${median(slices.map(({ p50 }) => p50)).toFixed(2)} ms, p99 ${median(slices.map(({ p99 }) => p99)).toFixed(2)} ms`

const ratio = (base: readonly Latency[], read: (each: Latency) => number): string =>
  median(same.map((each, index) => read(each) / read(base[index] ?? each))).toFixed(2)

try {
  for (let round = -1; round < Number(rounds); round += 1) {
    const slices = [
      await watched(undefined),
      await watched(elsewhere.port),
      await watched(floodedPort),
    ] as const
    if (round < 0) continue
    quiet.push(slices[0])
    other.push(slices[1])
    same.push(slices[2])
  }
  console.log(`latency of a small load on one listener, ${flooding} connections flooding`)
  console.log(line("nothing else runs", quiet))
  console.log(line("a server in another process is flooded", other))
  console.log(line("another listener of ours is flooded", same))
  for (const [name, base] of [
    ["quiet", quiet],
    ["a flood elsewhere", other],
  ] as const)
    console.log(`  of ${name}: p50 ${ratio(base, ({ p50 }) => p50)}, p99 ${ratio(base, ({ p99 }) => p99)}`)
} finally {
  await Promise.all([flood.stop(), watch.stop(), elsewhere.stop()])
  pair.kill("SIGKILL")
  await pair.exited
}
