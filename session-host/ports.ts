/**
 * The host's door to the outside: timers, randomness, sockets, ids and its own log. They are taken before the program
 * is loaded, since a program may put others in the place of the global ones.
 */
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
  readonly connect: (url: string, headers: Readonly<Record<string, string>>) => WebSocket
  /** Standard error; standard output belongs to the program. */
  readonly log: (line: string) => void
}

const { clearInterval, clearTimeout, setInterval, setTimeout, WebSocket } = globalThis
const { sleep, randomUUIDv7 } = Bun
const writeLine = console.error.bind(console)

const newRequestId = (): RequestId => {
  const id = `req_${randomUUIDv7()}`
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
  sleep: (ms) => sleep(ms),
  every: (ms, run) => {
    const timer = setInterval(run, ms)
    return () => clearInterval(timer)
  },
  connect: (url, headers) => new WebSocket(url, { headers: { ...headers } }),
  log: (line) => writeLine(`[session-host] ${line}`),
}
