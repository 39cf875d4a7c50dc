/** Chooses how work is shown: drawn in place on a terminal, in lines everywhere else. */
import type { Ports } from "../../ports.ts"
import type { Fleet } from "./fleet.ts"
import { createLineView } from "./lines.ts"
import { createLiveView } from "./live.ts"
import { terminalOf } from "./terminal.ts"
import type { View } from "./view.ts"

export interface ShowDeps {
  readonly ports: Ports
  readonly err: NodeJS.WriteStream
  readonly environment: Readonly<Record<string, string | undefined>>
  readonly interrupted: () => boolean
}

/** A terminal that says it is dumb cannot move its cursor. */
const canDraw = ({ err, environment }: ShowDeps): boolean => err.isTTY && environment["TERM"] !== "dumb"

export const showWork = (fleet: Fleet, deps: ShowDeps): View => {
  if (canDraw(deps)) return createLiveView(fleet, terminalOf(deps.err), deps)
  return createLineView(fleet, (text) => void deps.err.write(text), deps.ports)
}
