/** Stands for a supervisor that holds its state directory until it is killed. */
import { createJournal } from "@computerd/supervisor/journal"
import { systemPorts } from "@computerd/supervisor/ports"
import { openStore } from "@computerd/supervisor/store/open"

const ports = systemPorts({})
const store = openStore({ directory: process.argv[2] ?? "", ports, journal: createJournal(ports.clock) })
console.log(store.ok ? "open" : store.error.message)
setInterval(() => undefined, 60_000)
