/** Becomes a subreaper, has orphans made by the thousand beside children of its own, and says what became of both. */
import { systemPorts } from "@computerd/supervisor/ports"
import { becomeSubreaper } from "@computerd/supervisor/process/kernel"
import { listPids, readStat } from "@computerd/supervisor/process/procfs"
import { startReaper } from "@computerd/supervisor/process/reaper"

const [orphans = 0, own = 0] = process.argv.slice(2).map(Number)
const { timers } = systemPorts(process.env)
const started = new Set<number>()
const isSubreaper = becomeSubreaper()
const reaper = startReaper({ timers, isOwn: (pid) => started.has(pid), everyMs: 20 })

/** Its children sleep a moment, so that they outlive it and come to us. */
const parents = 30
const atOnce = 10
const script = `i=0; while [ $i -lt ${orphans / parents} ]; do (sleep 0.2) & i=$((i+1)); done; exit 0`

const run = async (command: readonly string[]): Promise<number> => {
  const child = Bun.spawn([...command], { stdout: "ignore", stderr: "ignore", stdin: "ignore" })
  started.add(child.pid)
  const code = await child.exited
  started.delete(child.pid)
  return code
}

const mine = () => listPids().filter((pid) => readStat(pid)?.parent === process.pid)
let most = 0
const watch = setInterval(() => {
  most = Math.max(most, mine().length)
}, 10)
const makeOrphans = async (): Promise<void> => {
  for (let made = 0; made < parents; made += atOnce)
    await Promise.all(Array.from({ length: atOnce }, () => run(["sh", "-c", script])))
}
const made = makeOrphans()
const codes = await Promise.all(
  Array.from({ length: own }, (_, index) => run(["sh", "-c", `exit ${index % 200}`])),
)
await made
const end = performance.now() + 15_000
while (mine().length > 0 && performance.now() < end) await Bun.sleep(20)
clearInterval(watch)
reaper.close()
const left = mine().map((pid) => readStat(pid)?.state)

/** Nothing but its parent tells of such a one, and that is us. */
await run(["sh", "-c", "(env -i setsid sleep 600 &) ; (env -i setsid sleep 600 &)"])
while (mine().length < 2) await Bun.sleep(5)
const survivors = await reaper.endOrphans(2000)
console.log(
  JSON.stringify({
    isSubreaper,
    most,
    left,
    hidden: [survivors, mine()],
    wrong: codes.filter((code, index) => code !== index % 200).length,
  }),
)
