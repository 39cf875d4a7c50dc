/** The link's transport over the WebSocket of the runtime. */
import type { LinkTransport } from "./transport.ts"
import { refusedUpgrade } from "./upgrade.ts"

const dial: LinkTransport["dial"] = ({ url, credential }, events) => {
  const socket = new WebSocket(url, { headers: { Authorization: `Bearer ${credential}` } })
  socket.addEventListener("open", events.opened)
  socket.addEventListener("message", ({ data }) => events.heard(data))
  socket.addEventListener("error", events.failed)
  socket.addEventListener("close", ({ code, reason }) => events.closed(code, reason))
  return {
    isOpen: () => socket.readyState === WebSocket.OPEN,
    isClosed: () => socket.readyState === WebSocket.CLOSED,
    bufferedBytes: () => socket.bufferedAmount,
    send: (text) => socket.send(text),
    close: () => socket.close(),
    terminate: () => socket.terminate(),
  }
}

export const webSockets: LinkTransport = { dial, refusal: refusedUpgrade }
