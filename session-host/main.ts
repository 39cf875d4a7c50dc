/**
 * What runs in a Session process: `bun session-host/main.ts`, with the bootstrap on standard input. Standard output is
 * the program's alone; what the host has to say goes to standard error. It exits with a code of `session/exit.ts`.
 *
 * Starting fast matters here, so nothing that this imports loads zod (`channel/guard.ts`) or `node:fs`
 * (`bootstrap.ts`), and `build.ts` makes one precompiled file of it all.
 */
import { readBootstrap } from "./bootstrap.ts"
import { channelTiming } from "./channel/timing.ts"
import { systemPorts } from "./ports.ts"
import { exitCodes } from "./session/exit.ts"
import { runHost } from "./session/host.ts"
import { catchStrays, strayTo } from "./session/stray.ts"

const main = async (exit: (code: number) => void): Promise<void> => {
  const bootstrap = await readBootstrap(Bun.stdin)
  if (!bootstrap.ok) {
    systemPorts.log(bootstrap.error.message)
    exit(exitCodes.bootstrap)
    return
  }
  const stray = strayTo(systemPorts.log)
  catchStrays(stray)
  runHost({ bootstrap: bootstrap.value, ports: systemPorts, timing: channelTiming, stray, exit })
}

// Bound before the program is loaded: it may replace what it finds.
void main(process.exit.bind(process))
