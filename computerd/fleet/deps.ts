/** What the verbs of `computerd fleet` work with. */
import type { Interrupt } from "../interrupt.ts"
import type { Ports } from "../ports.ts"

export interface FleetDeps {
  readonly ports: Ports
  readonly interrupt: Interrupt
  /** Answers go here. */
  readonly out: NodeJS.WriteStream
  /** What goes on, notices and errors go here. */
  readonly err: NodeJS.WriteStream
  readonly stdin: AsyncIterable<Uint8Array | string>
  readonly environment: Readonly<Record<string, string | undefined>>
}
