/** Writes one line for each event, for output that is no terminal. */
import type { Ports } from "../../ports.ts"
import type { Fleet } from "./fleet.ts"
import { eventLine } from "./plain.ts"
import { elapsed, oneLine } from "./text.ts"
import { outputLine, type View } from "./view.ts"

export const createLineView = (
  fleet: Pick<Fleet, "onEvent">,
  write: (text: string) => void,
  ports: Pick<Ports, "now">,
): View => {
  const startedAtMs = ports.now()
  const forget = fleet.onEvent((event) => {
    const line = eventLine(event, startedAtMs)
    if (line !== undefined) write(`${line}\n`)
  })
  return {
    output: (source, line) =>
      write(`${elapsed(ports.now() - startedAtMs)} ${oneLine(outputLine(source, line))}\n`),
    note: (line) => write(`${oneLine(line)}\n`),
    close: forget,
  }
}
