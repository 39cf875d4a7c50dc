/**
 * A control plane with one local Computer and one Session, in a process of its own. Prints where the Session's
 * endpoint is as one JSON line, and ends everything when standard input ends.
 */
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { embedControlPlane } from "../../computerd/embedded.ts"
import { silentJournal } from "../../control-plane/journal.ts"
import { EnvironmentKey } from "../../protocol/ids.ts"

const stateDirectory = mkdtempSync(join(tmpdir(), "computerd-bench-"))
const started = await embedControlPlane({
  stateDirectory,
  listen: { hostname: "127.0.0.1", port: 0 },
  unenforced: false,
  supervisors: "held",
  environment: process.env,
  journal: silentJournal,
})
if (!started.ok) throw new Error(started.error.message)
const plane = started.value
const published = await plane.publish(join(import.meta.dir, "program"), {})
if (!published.ok) throw new Error(published.error.message)

const connection = new Promise<string>((resolve) => {
  plane.onEvent((event) => {
    if (event.type === "turn_output") resolve(event.text)
  })
})
const environment = EnvironmentKey.parse("default")
const session = plane.startSession({ environment, agent: "caller", input: [], idempotencyKey: "bench" })
if (!session.ok) throw new Error(session.error.message)
console.log(await connection)

await Bun.stdin.text()
await plane.close()
rmSync(stateDirectory, { recursive: true, force: true })
process.exit(0)
