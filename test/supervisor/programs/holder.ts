/** Stands for a supervisor that holds its state directory until it is killed. */
import { createJournal } from "@computerd/supervisor/journal"
import { systemPorts } from "@computerd/supervisor/ports"
import { openStore } from "@computerd/supervisor/store/open"

const ports = systemPorts({})
const store = openStore({ directory: process.argv[2] ?? "", ports, journal: createJournal(ports.clock) })
const said = store.ok ? "open" : store.error.message
setInterval(() => undefined, 60_000)
// Nobody refers to the store any more.
setTimeout(() => {
  Bun.gc(true)
  console.log(said)
}, 50)
