/**
 * How fast what was killed is back, and what a supervisor weighs, each beside its peers in one run: a Session process, the
 * supervisor with few and with many living Sessions and with ten thousand stored scopes. The control plane is the fake
 * one of the tests; supervisors and processes are real, started as the command starts them.
 *
 *   bun lifecycle/run.ts [--quick]
 */
import { median, ratio, shown } from "./figures.ts"
import { connectedRatio, measureReplacements } from "./replacement.ts"
import { measureRespawns } from "./respawn.ts"
import { type Crowd, measureBareRestarts, measureRestarts, type Restarts } from "./restart.ts"

const isQuick = process.argv.includes("--quick")
const rounds = isQuick ? 5 : 30
const restartRounds = isQuick ? 3 : 10

const crowds: readonly Crowd[] = isQuick
  ? [0, 1, 50].map((sessions) => ({ sessions, scopes: 1 }))
  : [...[0, 1, 50, 100, 500].map((sessions) => ({ sessions, scopes: 1 })), { sessions: 625, scopes: 16 }]

const respawns = async (): Promise<void> => {
  const times = await measureRespawns(isQuick ? 3 : 15)
  const base = median(times.get("bare Bun.spawn") ?? [])
  console.log("\nSIGKILL of a trivial process to the first sign of its replacement, ms")
  console.table(
    Object.fromEntries(
      [...times].map(([name, taken]) => [
        name,
        { median: shown(taken), "beyond bare": (median(taken) - base).toFixed(1) },
      ]),
    ),
  )
}

const replacements = async (): Promise<void> => {
  const measured = await measureReplacements(rounds)
  const { bare, ours } = measured
  console.log("\nSIGKILL of a Session process to its replacement, ms")
  console.table({
    spawned: { "bare Bun": shown(bare.spawned), computerd: shown(ours.spawned) },
    connected: { "bare Bun": shown(bare.connected), computerd: shown(ours.connected) },
    ready: { computerd: shown(ours.ready) },
  })
  const beyond = (median(ours.spawned) - median(bare.spawned)).toFixed(1)
  console.log(
    `spawned: bare + ${beyond} ms (aim: 2); connected: ${connectedRatio(measured).toFixed(2)} x bare (aim: 1.5)`,
  )
}

const rowOf = ({ served, memory }: Restarts, base: Restarts): Readonly<Record<string, string>> => ({
  "served again, ms": served.length === 0 ? "" : shown(served),
  "to bare": served.length === 0 ? "" : ratio(median(served), median(base.served)),
  "resident (PSS), MiB": `${memory.resident.toFixed(1)} (${memory.proportional.toFixed(1)})`,
  "resident to bare": ratio(memory.resident, base.memory.resident),
})

const restarts = async (): Promise<void> => {
  const bare = await measureBareRestarts(restartRounds)
  const rows: Record<string, Readonly<Record<string, string>>> = { "bare Bun server": rowOf(bare, bare) }
  for (const crowd of crowds) {
    const name = `${crowd.sessions} Sessions, ${crowd.sessions * crowd.scopes} scopes`
    rows[name] = rowOf(await measureRestarts(crowd, restartRounds), bare)
  }
  console.log(
    "\nSIGKILL of a supervisor to the first MCP request that the next one serves; its memory at rest",
  )
  console.table(rows)
}

await respawns()
await replacements()
await restarts()
