/** Writes one line for each event, for output that is no terminal. */
import type { Ports } from "../ports.ts"
import { oneLine } from "./text.ts"
import { outputLine, type Subject, type View } from "./view.ts"

export const createLineView = (
  subject: Pick<Subject, "onLine" | "stamp">,
  write: (text: string) => void,
  ports: Pick<Ports, "now">,
): View => {
  const startedAtMs = ports.now()
  const forget = subject.onLine((line) => write(`${line}\n`), startedAtMs)
  return {
    output: (source, line, atMs = ports.now()) =>
      write(`${subject.stamp(atMs, startedAtMs)} ${oneLine(outputLine(source, line))}\n`),
    note: (line) => write(`${oneLine(line)}\n`),
    close: forget,
  }
}
