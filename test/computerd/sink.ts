/** Stands for a standard stream: keeps what is written, as fast as its reader takes it, and can lose that reader. */
import { Writable } from "node:stream"

export const sink = ({ isTTY = false } = {}) => {
  let text = ""
  let held: (() => void)[] | undefined
  let gone = false
  const stream = new Writable({
    decodeStrings: false,
    write: (chunk: string, _, done) => {
      const take = (): void => {
        if (!gone) text += chunk
        else stream.emit("error", new Error("EPIPE"))
        done()
      }
      if (held === undefined) take()
      else held.push(take)
    },
  })
  stream.on("error", () => undefined)
  return {
    stream: Object.assign(stream, { isTTY }) as unknown as NodeJS.WriteStream,
    text: () => text,
    /** Its reader takes nothing until it is released. */
    hold: () => {
      held = []
    },
    release: () => {
      const waiting = held ?? []
      held = undefined
      for (const take of waiting) take()
    },
    /** Its reader has gone away. */
    leave: () => {
      gone = true
    },
  }
}
