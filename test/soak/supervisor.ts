/** A supervisor whose garbage is collected on SIGUSR2, and whose link to the control plane is cut on SIGWINCH. */
import { runSupervisor } from "@computerd/supervisor/main"
import { collectOnSignal } from "./collect.ts"

collectOnSignal()

const sockets = new Set<WebSocket>()
globalThis.WebSocket = new Proxy(WebSocket, {
  construct: (target, given) => {
    const socket: WebSocket = Reflect.construct(target, given)
    sockets.add(socket)
    socket.addEventListener("close", () => sockets.delete(socket))
    return socket
  },
})
process.on("SIGWINCH", () => {
  for (const socket of sockets) socket.terminate()
})

// The local driver appends `run --config FILE`.
void runSupervisor(process.argv.slice(3), process.env).then(process.exit)
