/** Who waits for news of which tree. One subscription serves all; a wait ends by news, its time or its signal. */
import type { SessionId } from "@computerd/protocol/ids"
import type { CancelTimer, Ports } from "../../ports.ts"

export type Woken = "news" | "silence" | "ended"

export interface Wakes {
  readonly wait: (root: SessionId, timeoutMs: number, signal: AbortSignal) => Promise<Woken>
  readonly wake: (roots: ReadonlySet<SessionId>) => void
}

type End = (how: Woken) => void

export const createWakes = ({ after }: Pick<Ports, "after">): Wakes => {
  const waiting = new Map<SessionId, Set<End>>()

  const join = (root: SessionId, end: End): (() => void) => {
    const others = waiting.get(root) ?? new Set()
    others.add(end)
    waiting.set(root, others)
    return () => {
      others.delete(end)
      if (others.size === 0 && waiting.get(root) === others) waiting.delete(root)
    }
  }

  return {
    wait: (root, timeoutMs, signal) => {
      if (signal.aborted) return Promise.resolve("ended")
      const { promise, resolve } = Promise.withResolvers<Woken>()
      let timer: CancelTimer | undefined
      const onAbort = (): void => end("ended")
      const end: End = (how) => {
        timer?.()
        signal.removeEventListener("abort", onAbort)
        leave()
        resolve(how)
      }
      const leave = join(root, end)
      timer = after(timeoutMs, () => end("silence"))
      signal.addEventListener("abort", onAbort)
      return promise
    },
    wake: (roots) => {
      for (const root of roots) for (const end of [...(waiting.get(root) ?? [])]) end("news")
    },
  }
}
