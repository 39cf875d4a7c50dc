/** Chooses how work is shown: drawn in place on a terminal, in lines everywhere else. */
import { writeOut } from "../output.ts"
import type { Ports } from "../ports.ts"
import { createLineView } from "./lines.ts"
import { createLiveView } from "./live.ts"
import { terminalOf } from "./terminal.ts"
import type { Subject, View } from "./view.ts"

export interface ShowDeps {
  readonly ports: Ports
  readonly err: NodeJS.WriteStream
  readonly environment: Readonly<Record<string, string | undefined>>
  readonly interrupted: () => boolean
}

/** A terminal that says it is dumb cannot move its cursor. */
const canDraw = ({ err, environment }: ShowDeps): boolean => err.isTTY && environment["TERM"] !== "dumb"

export const showWork = (subject: Subject, deps: ShowDeps): View => {
  if (canDraw(deps)) return createLiveView(subject, terminalOf(deps.err), deps)
  return createLineView(subject, (text) => writeOut(deps.err, text), deps.ports)
}
