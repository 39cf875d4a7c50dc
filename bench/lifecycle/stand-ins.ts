/** Where stand-ins report: each of them as it starts, with its pid and the line it was given. */
import { join } from "node:path"

export interface Report {
  readonly pid: number
  /** When the process began to speak: before its line came. */
  readonly atMs: number
  readonly line: string
}

export interface StandIns {
  /** Any supervisor may start it, with an empty line or a bootstrap on standard input. */
  readonly command: readonly string[]
  readonly next: () => Promise<Report>
  readonly close: () => void
}

interface Speaker {
  atMs: number
  text: string
}

export const openStandIns = (heard: (report: Report) => void = () => undefined): StandIns => {
  const waiting: ((report: Report) => void)[] = []
  const listener = Bun.listen<Speaker>({
    hostname: "127.0.0.1",
    port: 0,
    socket: {
      open: (socket) => {
        socket.data = { atMs: Bun.nanoseconds() / 1e6, text: "" }
      },
      data: (socket, bytes) => {
        socket.data.text += bytes.toString()
      },
      close: ({ data: { atMs, text } }) => {
        const [pid = "", ...line] = text.trimEnd().split(" ")
        const report = { pid: Number(pid), atMs, line: line.join(" ") }
        heard(report)
        waiting.shift()?.(report)
      },
    },
  })
  return {
    command: ["/bin/bash", join(import.meta.dir, "stand-in.sh"), String(listener.port)],
    next: () => new Promise((resolve) => waiting.push(resolve)),
    close: () => listener.stop(true),
  }
}
