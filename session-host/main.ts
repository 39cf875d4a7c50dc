/**
 * What runs in a Session process: `bun session-host/main.ts`, with the bootstrap on standard input. Standard output is
 * the program's alone; what the host has to say goes to standard error. It exits with a code of `session/exit.ts`.
 *
 * Starting fast matters here, so nothing that this imports loads zod (`channel/guard.ts`), and `build.ts` makes one
 * file of it all.
 */
import { readBootstrap } from "./bootstrap.ts"
import { channelTiming } from "./channel/timing.ts"
import { systemPorts } from "./ports.ts"
import { exitCodes } from "./session/exit.ts"
import { runHost } from "./session/host.ts"
import { catchStrays, strayTo } from "./session/stray.ts"

// Kept before the program is loaded: it may replace what it finds.
const exit = process.exit.bind(process)

const bootstrap = readBootstrap(0)
if (bootstrap.ok) {
  const stray = strayTo(systemPorts.log)
  catchStrays(stray)
  runHost({ bootstrap: bootstrap.value, ports: systemPorts, timing: channelTiming, stray, exit })
} else {
  systemPorts.log(bootstrap.error.message)
  exit(exitCodes.bootstrap)
}
