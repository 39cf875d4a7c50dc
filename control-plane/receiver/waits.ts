/** Who waits for which Turn. A wait ends by settlement, time, its own signal, or the end of the receiver. */
import type { TurnId } from "@computerd/protocol/ids"
import type { CancelTimer, Ports } from "../ports.ts"

export type Waited = "settled" | "timeout" | "aborted" | "closed"

export interface Waits {
  readonly wait: (turn: TurnId, timeoutMs: number, signal: AbortSignal) => Promise<Waited>
  readonly settled: (turn: TurnId) => void
  readonly close: () => void
}

type End = (how: Waited) => void

export const createWaits = (ports: Pick<Ports, "after">): Waits => {
  const waiting = new Map<TurnId, Set<End>>()
  let closed = false

  const leave = (turn: TurnId, end: End): void => {
    const others = waiting.get(turn)
    others?.delete(end)
    if (others?.size === 0) waiting.delete(turn)
  }

  const join = (turn: TurnId, end: End): void => {
    const others = waiting.get(turn)
    if (others === undefined) waiting.set(turn, new Set([end]))
    else others.add(end)
  }

  const wait: Waits["wait"] = (turn, timeoutMs, signal) => {
    if (closed) return Promise.resolve("closed")
    if (signal.aborted) return Promise.resolve("aborted")
    const { promise, resolve } = Promise.withResolvers<Waited>()
    let timer: CancelTimer | undefined
    const onAbort = (): void => end("aborted")
    const end: End = (how) => {
      timer?.()
      signal.removeEventListener("abort", onAbort)
      leave(turn, end)
      resolve(how)
    }
    timer = ports.after(timeoutMs, () => end("timeout"))
    signal.addEventListener("abort", onAbort)
    join(turn, end)
    return promise
  }

  const endAll = (ends: Iterable<End>, how: Waited): void => {
    for (const end of [...ends]) end(how)
  }

  return {
    wait,
    settled: (turn) => endAll(waiting.get(turn) ?? [], "settled"),
    close: () => {
      closed = true
      for (const ends of [...waiting.values()]) endAll(ends, "closed")
    },
  }
}
