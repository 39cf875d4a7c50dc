/**
 * One connection to a supervisor, from dialling to its loss. Once it is lost or dropped nothing of it is heard any
 * more, whatever its socket still reports.
 */
import type { ChannelUpFrame, SessionBootstrap } from "@computerd/protocol/channel"
import type { Ports } from "../ports.ts"

export interface LineEvents {
  /** The supervisor has taken the secret. */
  readonly opened: (line: Line) => void
  readonly heard: (line: Line, data: unknown) => void
  /** Closed by the other side, never reached, or not welcomed in time. */
  readonly lost: () => void
}

export interface Line {
  readonly write: (frame: ChannelUpFrame) => void
  /** It was greeted back: its deadline is over. */
  readonly welcomed: () => void
  readonly drop: () => void
}

export const dial = (
  { channelUrl, secret }: SessionBootstrap,
  { ports, connectMs }: { readonly ports: Ports; readonly connectMs: number },
  on: LineEvents,
): Line => {
  const socket = ports.connect(channelUrl, { Authorization: `Bearer ${secret}` })
  const cancelDeadline = ports.after(connectMs, () => lose())
  let isLive = true

  const drop = (): void => {
    isLive = false
    cancelDeadline()
    socket.terminate()
  }
  const lose = (): void => {
    if (!isLive) return
    drop()
    on.lost()
  }
  const line: Line = {
    write: (frame) => socket.send(JSON.stringify(frame)),
    welcomed: cancelDeadline,
    drop,
  }
  socket.addEventListener("open", () => {
    if (isLive) on.opened(line)
  })
  socket.addEventListener("message", (event: MessageEvent<unknown>) => {
    if (isLive) on.heard(line, event.data)
  })
  socket.addEventListener("close", lose)
  socket.addEventListener("error", lose)
  return line
}
