/**
 * `bun test/faults/pause/run.ts [seconds] [supervisor | computer | everything]`: stops a working system for a long time,
 * five minutes unless told otherwise, with the limits that it has in earnest, and prints what became of it.
 */
import { createRig } from "../../control-plane/drivers/rig.ts"
import { expected, type Pause, seeThrough } from "../../e2e/pausing.ts"

const waitMs = 30_000
const parts: readonly Pause["what"][] = ["supervisor", "computer", "everything"]

const [seconds = "300", named = "computer"] = process.argv.slice(2)
const what = parts.find((part) => part === named)
const stopMs = Number(seconds) * 1000
if (what === undefined || !(stopMs > 0)) {
  console.error("usage: bun test/faults/pause/run.ts [seconds] [supervisor | computer | everything]")
  process.exit(2)
}

const rig = await createRig()
try {
  const { waitedMs, ...seen } = await seeThrough(rig, { stopMs, waitMs, what })
  const rows = [
    ...Object.entries(expected).map(([name, wanted]) => ({
      ...{ seen: name, wanted: JSON.stringify(wanted), found: JSON.stringify(Reflect.get(seen, name)) },
    })),
    { seen: "waitedMs", wanted: `at least ${waitMs}`, found: String(waitedMs) },
  ]
  const isRight = Bun.deepEquals(seen, expected) && waitedMs >= waitMs
  console.log(`${what} stopped for ${seconds} s: ${isRight ? "as if no time had passed" : "WRONG"}`)
  console.table(rows)
  process.exitCode = isRight ? 0 : 1
} finally {
  await rig.close()
}
