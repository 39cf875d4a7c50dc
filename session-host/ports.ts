/**
 * The host's door to the outside: timers, randomness, sockets, ids and its own log. They are taken before the program
 * is loaded, since a program may put others in the place of the global ones.
 */
import type { RequestId } from "@computerd/protocol/ids"
import { createRunningTime } from "@computerd/protocol/running-time"
import { isRequestId } from "./channel/frames.ts"

export type Stop = () => void

export interface Ports {
  readonly random: () => number
  readonly newRequestId: () => RequestId
  /** Runs once after `ms` of this process's own running time, as everything here that waits: a freeze is no waiting. */
  readonly after: (ms: number, run: () => void) => Stop
  readonly sleep: (ms: number) => Promise<void>
  readonly every: (ms: number, run: () => void) => Stop
  readonly connect: (url: string, headers: Readonly<Record<string, string>>) => WebSocket
  /** Standard error; standard output belongs to the program. */
  readonly log: (line: string) => void
}

const { clearTimeout, performance, setTimeout, WebSocket } = globalThis
const { randomUUIDv7 } = Bun
const writeLine = console.error.bind(console)

const newRequestId = (): RequestId => {
  const id = `req_${randomUUIDv7()}`
  if (!isRequestId(id)) throw new Error("a request id must be req_ and a UUIDv7")
  return id
}

const setTimer = (delayMs: number, run: () => void): Stop => {
  const timer = setTimeout(run, delayMs)
  return () => clearTimeout(timer)
}

const setIdleTimer = (delayMs: number, run: () => void): Stop => {
  const timer = setTimeout(run, delayMs)
  timer.unref()
  return () => clearTimeout(timer)
}

const { after, every } = createRunningTime({ elapsedMs: () => performance.now(), setTimer, setIdleTimer })

export const systemPorts: Ports = {
  random: Math.random,
  newRequestId,
  after,
  sleep: (ms) => new Promise((resolve) => after(ms, resolve)),
  every,
  connect: (url, headers) => new WebSocket(url, { headers: { ...headers } }),
  log: (line) => writeLine(`[session-host] ${line}`),
}
