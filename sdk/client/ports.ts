/** The client's door to clock, chance, timers and the network. */

/** The part of `fetch` that the client uses; any implementation of the standard one will do. */
export type Fetch = (url: string, init: RequestInit) => Promise<Response>

export interface Ports {
  /** Milliseconds that never go back. */
  readonly now: () => number
  /** From 0 to below 1. */
  readonly random: () => number
  /** Runs once, unless the returned function is called first. */
  readonly after: (delayMs: number, run: () => void) => () => void
  readonly newKey: () => string
  readonly fetch: Fetch
}

/** A timer of the platform takes no longer one: it would run at once. */
const timerMaxMs = 2 ** 31 - 1

const after: Ports["after"] = (delayMs, run) => {
  let timer: ReturnType<typeof setTimeout>
  const arm = (leftMs: number): void => {
    const stepMs = Math.min(leftMs, timerMaxMs)
    timer = setTimeout(() => (leftMs > stepMs ? arm(leftMs - stepMs) : run()), stepMs)
  }
  arm(delayMs)
  return () => clearTimeout(timer)
}

export const systemPorts = (fetcher: Fetch | undefined): Ports => ({
  now: () => performance.now(),
  random: () => Math.random(),
  after,
  newKey: () => crypto.randomUUID(),
  // Looked up at each call, so that whoever replaces the global one is heard.
  fetch: fetcher ?? ((url, init) => globalThis.fetch(url, init)),
})
