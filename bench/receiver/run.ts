/**
 * Admissions a second at the receiver, against one-row commits in the same run, at 10, 10,000 and 100,000 open
 * Sessions. Slices alternate, so that whatever else the machine does falls on both alike; ratios are taken within a
 * round and their median is printed.
 *
 *   bun receiver/run.ts [rounds] [slice ms] [open Sessions,…] [callers at once]
 */
import { quantile } from "../timing.ts"
import { createBareCommits } from "./commits.ts"
import { type Caller, createFleet } from "./fleet.ts"

const [rounds = "7", sliceMs = "400", sizes = "10,10000,100000", atOnce = "32"] = process.argv.slice(2)
const slice = Number(sliceMs)

interface Slice {
  readonly rate: number
  readonly p50: number
  readonly p99: number
}

const bareSlice = (commit: () => void): Slice => {
  const times: number[] = []
  const end = performance.now() + slice
  for (let now = performance.now(); now < end; ) {
    commit()
    const after = performance.now()
    times.push(after - now)
    now = after
  }
  return { rate: (times.length * 1000) / slice, p50: quantile(times, 0.5), p99: quantile(times, 0.99) }
}

type Operation = (caller: Caller) => Promise<unknown>

const admissionSlice = async (callers: readonly Caller[], operation: Operation): Promise<Slice> => {
  const times: number[] = []
  const end = performance.now() + slice
  const work = async (caller: Caller): Promise<void> => {
    for (let now = performance.now(); now < end; ) {
      await operation(caller)
      const after = performance.now()
      times.push(after - now)
      now = after
    }
  }
  await Promise.all(callers.map(work))
  return { rate: (times.length * 1000) / slice, p50: quantile(times, 0.5), p99: quantile(times, 0.99) }
}

const input = [{ type: "text" as const, text: "work" }]
const operations: Readonly<Record<string, Operation>> = {
  enqueue: (caller) =>
    caller.call("enqueue", { sessionId: caller.sessionId, input, idempotencyKey: crypto.randomUUID() }),
  spawn: (caller) => caller.call("spawn", { agent: "helper", input, idempotencyKey: crypto.randomUUID() }),
  inspect: (caller) => caller.call("inspect_session", { sessionId: caller.sessionId }),
}

const bare = createBareCommits()
const rows: Record<string, string | number>[] = []
for (const size of sizes.split(",").map(Number)) {
  const fleet = await createFleet(size, Number(atOnce))
  for (const [name, operation] of Object.entries(operations)) {
    for (const callers of [fleet.callers.slice(0, 1), fleet.callers]) {
      const measured: { readonly ours: Slice; readonly theirs: Slice }[] = []
      for (let round = 0; round < Number(rounds); round += 1)
        measured.push({ theirs: bareSlice(bare.commit), ours: await admissionSlice(callers, operation) })
      const median = (of: (one: (typeof measured)[number]) => number): number =>
        quantile(measured.map(of), 0.5)
      rows.push({
        "open Sessions": size,
        operation: name,
        "at once": callers.length,
        "a second": Math.round(median(({ ours }) => ours.rate)),
        "bare commits": Math.round(median(({ theirs }) => theirs.rate)),
        ratio: Number(median(({ ours, theirs }) => ours.rate / theirs.rate).toFixed(2)),
        "p50 ms": Number(median(({ ours }) => ours.p50).toFixed(2)),
        "p99 ms": Number(median(({ ours }) => ours.p99).toFixed(2)),
      })
    }
  }
  await fleet.close()
}
bare.close()
console.table(rows)
