/**
 * The soak: a control plane, supervisors and Session processes at modest work for an hour, with kills and cuts among it.
 *   bun run soak [--minutes 60] [--seed S]
 * It ends with 1 when memory after collection has grown to more than 1.1 times that after six minutes, when a Turn is
 * not settled, or when a process, port or file is left.
 */
import { parseArgs } from "node:util"
import { playSoak } from "./play.ts"
import { judge, settledMinute } from "./table.ts"

const { values } = parseArgs({
  options: { minutes: { type: "string", default: "60" }, seed: { type: "string" } },
})
const minutes = Number(values.minutes)
const seed = Number(values.seed ?? Date.now() % 1_000_000)

if (!(minutes > settledMinute + 1) || !Number.isSafeInteger(seed)) {
  console.error(`--minutes must be more than ${settledMinute + 1} and --seed a whole number`)
  process.exit(2)
}
console.log(`soak of ${minutes} minutes, seed ${seed}`)
const { samples, played, complaints } = await playSoak({ minutes, seed })
const { table, grown } = judge(samples)
console.table(table)
console.table(Object.fromEntries(played))
const all = [...complaints, ...grown]
for (const complaint of all) console.log(complaint)
console.log(all.length === 0 ? "passed" : `failed; replay with --seed ${seed}`)
process.exit(all.length === 0 ? 0 : 1)
