/** Uses the headers of processes that have been replaced, for what they could do while they were alive. */
import type { Book } from "../world/book.ts"
import { post } from "./caller.ts"

export interface Prober {
  /** Tries the last header that died of each of these Sessions, once each. */
  readonly probe: (sessions: readonly string[]) => Promise<void>
}

export const createProber = (book: Book): Prober => {
  const tried = new Set<string>()
  return {
    probe: async (sessions) => {
      for (const session of sessions) {
        const dead = book.processes(session).at(-2)
        if (dead === undefined || tried.has(dead.instance)) continue
        tried.add(dead.instance)
        const key = `dead-${dead.instance}`
        const given = { agent: "guest", input: [], idempotencyKey: key }
        const status = await post(dead, "start", given).then(
          async (response) => {
            await response.body?.cancel()
            return response.status
          },
          () => null,
        )
        book.write({ kind: "probed", session, instance: dead.instance, key, status })
      }
    },
  }
}
