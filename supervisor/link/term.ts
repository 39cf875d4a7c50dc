/** How long the last grant lasts, in the store, for the supervisor that comes after this one. */
import { Epoch } from "@computerd/protocol/ids"
import { leaseMs } from "@computerd/protocol/limits"
import { z } from "zod"
import type { Journal } from "../journal.ts"
import type { Clock } from "../ports.ts"
import type { Store } from "../store/open.ts"
import type { Term } from "./lease.ts"

const Stored = z.strictObject({ bootId: z.string(), epoch: Epoch, untilMs: z.number() })

export interface TermMemory {
  /** Of an earlier supervisor of this boot; with its processes only there is something that it matters to. */
  readonly inherited: () => Term | undefined
  /** One that cannot be written down makes the next supervisor freeze its processes too early, never too late. */
  readonly remember: (term: Term) => void
}

export interface TermMemoryDeps {
  readonly store: Pick<Store, "meta" | "processes">
  readonly journal: Journal
  readonly clock: Pick<Clock, "elapsedMs">
  readonly bootId: string
}

const read = (text: string | undefined): z.infer<typeof Stored> | undefined => {
  if (text === undefined) return undefined
  try {
    return Stored.safeParse(JSON.parse(text)).data
  } catch {
    return undefined
  }
}

export const createTermMemory = ({ store, journal, clock, bootId }: TermMemoryDeps): TermMemory => ({
  inherited: () => {
    if (!store.processes.all().some((row) => row.bootId === bootId)) return undefined
    const stored = read(store.meta.get("lease_term"))
    if (stored?.bootId === bootId) return { epoch: stored.epoch, untilMs: stored.untilMs }
    // Written by a version that kept no term: it can have lasted so long at most.
    return { epoch: Epoch.parse(stored?.epoch ?? 1), untilMs: clock.elapsedMs() + leaseMs }
  },
  remember: (term) => {
    try {
      store.meta.set("lease_term", JSON.stringify({ ...term, bootId } satisfies z.infer<typeof Stored>))
    } catch (error) {
      const message = error instanceof Error ? error.message : String(error)
      journal.record({ event: "store_write_failed", during: "lease", message })
    }
  },
})
