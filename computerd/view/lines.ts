/** Writes one line for each event, for output that is no terminal. */
import type { Ports } from "../ports.ts"
import { oneLine } from "./text.ts"
import { outputLine, type Subject, type View } from "./view.ts"

export const createLineView = (
  subject: Pick<Subject, "onLine" | "stamp">,
  write: (text: string) => Promise<void>,
  ports: Pick<Ports, "now">,
): View => {
  const startedAtMs = ports.now()
  /** Of the last line; those before it are out by then. */
  let written = Promise.resolve()
  const put = (line: string): void => {
    written = write(`${line}\n`)
  }
  const forget = subject.onLine(put, startedAtMs)
  return {
    output: (source, line, atMs = ports.now()) =>
      put(`${subject.stamp(atMs, startedAtMs)} ${oneLine(outputLine(source, line))}`),
    note: (line) => put(oneLine(line)),
    flushed: () => written,
    close: forget,
  }
}
