/** The public API over a receiver on a file, in a process of its own. Prints one JSON line; ends with standard input. */
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { openApiServer } from "../../control-plane/api/server.ts"
import { silentJournal } from "../../control-plane/journal.ts"
import { systemPorts } from "../../control-plane/ports.ts"
import { openContentStore } from "../../control-plane/publication/content/store.ts"
import { Permission } from "../../protocol/api/permissions.ts"
import { fail } from "../../protocol/errors.ts"
import { EnvironmentKey } from "../../protocol/ids.ts"
import { createFleet } from "../receiver/fleet.ts"

const openSessions = 1_000
const directory = mkdtempSync(join(tmpdir(), "computerd-bench-"))
const fleet = await createFleet(openSessions, 1)
const { receiver } = fleet
const environment = EnvironmentKey.parse("default")
const made = receiver.keys.create({ environment, name: "bench", permissions: [...Permission.options] })
if (!made.ok) throw new Error(made.error.message)
const server = openApiServer({
  listen: { hostname: "127.0.0.1", port: 0, behindProxy: false },
  settings: { requestsPerSecond: Number.MAX_SAFE_INTEGER },
  receiver,
  content: await openContentStore(directory, () => Bun.randomUUIDv7()),
  publish: async () => fail("internal", "nothing is published here"),
  ports: systemPorts(silentJournal),
})
if (!server.ok) throw new Error(server.error.message)
const sessionId = fleet.callers[0]?.sessionId
console.log(JSON.stringify({ url: server.value.url, key: made.value.secret, sessionId }))

await Bun.stdin.text()
await server.value.close()
await fleet.close()
rmSync(directory, { recursive: true })
process.exit(0)
