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

export const systemPorts = (fetcher: Fetch | undefined): Ports => ({
  now: () => performance.now(),
  random: () => Math.random(),
  after: (delayMs, run) => {
    const timer = setTimeout(run, delayMs)
    return () => clearTimeout(timer)
  },
  newKey: () => crypto.randomUUID(),
  // Looked up at each call, so that whoever replaces the global one is heard.
  fetch: fetcher ?? ((url, init) => globalThis.fetch(url, init)),
})
