/**
 * Paired slices: every server is run in turn, a short slice each, round after round, so that whatever else the machine
 * does falls on all alike. Ratios are taken within a round and their median is printed.
 *
 *   bun endpoint/run.ts [rounds] [slice ms] [workloads,…] [connections,…] [contender words,…]
 */
import { contenders, type Running, startClient, startContender } from "./servers.ts"
import { bodies, type Workload } from "./workload.ts"

const [
  rounds = "7",
  sliceMs = "400",
  workloads = "skills,remote,list,initialize",
  counts = "1,32,64",
  only = "",
] = process.argv.slice(2)

const chosen = contenders.filter(
  ({ name, file }) => only === "" || file === "raw" || only.split(",").some((word) => name.includes(word)),
)
const servers = await Promise.all(chosen.map(startContender))
const client = startClient()

interface Slice {
  readonly rate: number
  readonly p50: number
  readonly p99: number
  readonly cpuUs: number
}

const slice = async (server: Running, workload: Workload, connections: number): Promise<Slice> => {
  const { "MCP-Protocol-Version": version, ...rest } = server.headers
  const headers = workload === "initialize" || version === undefined ? rest : server.headers
  const beforeNs = await server.cpuNs()
  const job = { port: server.port, connections, millis: Number(sliceMs), body: bodies[workload], headers }
  const { requests, millis, p50, p99, failed } = await client.run(job)
  const cpuUs = ((await server.cpuNs()) - beforeNs) / 1000 / Math.max(1, requests)
  if (failed > 0) throw new Error(`${server.name}: ${failed} of ${requests} ${workload} failed`)
  return { rate: (requests / millis) * 1000, p50, p99, cpuUs }
}

const median = (values: readonly number[]): number =>
  [...values].sort((a, b) => a - b)[values.length >> 1] ?? 0

const table = async (workload: Workload, connections: number): Promise<void> => {
  const slices = new Map<Running, Slice[]>(servers.map((server) => [server, []]))
  for (let round = -1; round < Number(rounds); round += 1) {
    for (const server of servers) {
      const measured = await slice(server, workload, connections)
      if (round >= 0) slices.get(server)?.push(measured)
    }
  }
  const base = slices.get(servers[0]!) ?? []
  console.log(`\n${workload}, ${connections} connections, ${rounds} rounds of ${sliceMs} ms`)
  console.log(
    `${"".padEnd(42)}${"req/s".padStart(8)}${"of raw".padStart(8)}${"p99 ms".padStart(8)}${"of raw".padStart(8)}${"cpu us".padStart(8)}${"of raw".padStart(8)}`,
  )
  for (const [server, own] of slices) {
    const ratio = (read: (each: Slice) => number) =>
      median(own.map((each, index) => read(each) / read(base[index] ?? each)))
        .toFixed(2)
        .padStart(8)
    const columns = [
      median(own.map(({ rate }) => rate))
        .toFixed(0)
        .padStart(8),
      ratio(({ rate }) => rate),
      median(own.map(({ p99 }) => p99))
        .toFixed(2)
        .padStart(8),
      ratio(({ p99 }) => p99),
      median(own.map(({ cpuUs }) => cpuUs))
        .toFixed(1)
        .padStart(8),
      ratio(({ cpuUs }) => cpuUs),
    ]
    console.log(`${server.name.padEnd(42)}${columns.join("")}`)
  }
}

try {
  for (const workload of workloads.split(",") as Workload[])
    for (const connections of counts.split(",").map(Number)) await table(workload, connections)
} finally {
  await client.stop()
  for (const server of servers) await server.stop()
}
