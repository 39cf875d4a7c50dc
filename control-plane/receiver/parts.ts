/** What the groups of a receiver's calls are made from. */
import type { Ports } from "../ports.ts"
import type { Store } from "../store/open.ts"
import type { Commits } from "./commits.ts"
import type { Waits } from "./waits.ts"

export interface Parts {
  readonly store: Store
  readonly ports: Ports
  readonly commits: Commits
  readonly waits: Waits
}
