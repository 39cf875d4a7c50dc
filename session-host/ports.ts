/** The host's door to the outside: timers, randomness, ids and its own log. Nothing else here reaches for them. */
import type { RequestId } from "@computerd/protocol/ids"
import { isRequestId } from "./channel/frames.ts"

export type Stop = () => void

export interface Ports {
  readonly random: () => number
  readonly newRequestId: () => RequestId
  /** Runs once after `ms`. */
  readonly after: (ms: number, run: () => void) => Stop
  readonly sleep: (ms: number) => Promise<void>
  /** Runs each `ms` of this process's own running time: a process that was frozen misses ticks, it does not catch up. */
  readonly every: (ms: number, run: () => void) => Stop
  /** Standard error; standard output belongs to the program. */
  readonly log: (line: string) => void
}

const newRequestId = (): RequestId => {
  const id = `req_${Bun.randomUUIDv7()}`
  if (!isRequestId(id)) throw new Error("a request id must be req_ and a UUIDv7")
  return id
}

export const systemPorts: Ports = {
  random: Math.random,
  newRequestId,
  after: (ms, run) => {
    const timer = setTimeout(run, ms)
    return () => clearTimeout(timer)
  },
  sleep: (ms) => Bun.sleep(ms),
  every: (ms, run) => {
    const timer = setInterval(run, ms)
    return () => clearInterval(timer)
  },
  log: (line) => console.error(`[session-host] ${line}`),
}
