/**
 * The simulated network between supervisors and the control plane. A connection carries texts in order, each way, with
 * delays; it is cut, torn in the middle of a frame, stalls, or goes silent without a word (half-open). Beyond what a real one
 * does, numbered frames are lost, swapped and repeated: the numbering must notice that too.
 */
import type { SocketEvents } from "@computerd/supervisor/link/transport"
import type { Random } from "./random.ts"
import type { Cancel, Machine, Time } from "./time.ts"

/** What the control plane's side of a connection is to the network. */
export interface Listener {
  readonly accept: (socket: {
    readonly send: (text: string) => boolean
    readonly close: (code: number, reason: string) => void
  }) => Accepted | undefined
  readonly machine: Machine
}

export interface Accepted {
  readonly receive: (text: string) => void
  readonly closed: (detail: string) => void
}

export type Direction = "up" | "down"
export type FrameFault = "drop" | "repeat" | "swap" | "tear"

/** As the link server has it. */
const idleMs = 60_000
/** What a kernel takes of a silent connection before the sender's own buffer grows. */
const kernelBytes = 262_144
/** A connection that loses something breaks in the end, and what is late arrives, also when nothing follows. */
const lateMs = 5_000

interface Way {
  lastArrivalMs: number
  fault: FrameFault | undefined
  held: string | undefined
}

const newWay = (): Way => ({ lastArrivalMs: 0, fault: undefined, held: undefined })

export interface NetworkState {
  /** Nothing gets through; connections go silent, and dials are not answered. */
  partitioned: boolean
  latencyMs: number
}

export interface NetworkDeps {
  readonly time: Time
  readonly random: Random
  readonly state: NetworkState
  readonly trace: (text: string) => void
  readonly faulted: (kind: string) => void
}

const isNumbered = (text: string): boolean => text.includes('"kind":"frame"')

export class Wire {
  readonly machine: Machine
  readonly name: string
  readonly #deps: NetworkDeps
  readonly #events: SocketEvents
  readonly #ways: Readonly<Record<Direction, Way>> = { up: newWay(), down: newWay() }
  #far: { readonly accepted: Accepted; readonly machine: Machine } | undefined
  #near: "dialing" | "open" | "closing" | "closed" = "dialing"
  #isSilent = false
  #unread = 0
  #cancelIdle: Cancel = () => undefined
  readonly #inFlight: Record<Direction, number> = { up: 0, down: 0 }

  constructor(options: {
    readonly deps: NetworkDeps
    readonly name: string
    readonly machine: Machine
    readonly events: SocketEvents
    readonly listener: Listener | undefined
  }) {
    const { deps, name, machine, events, listener } = options
    this.#deps = deps
    this.name = name
    this.machine = machine
    this.#events = events
    const { state, time } = deps
    if (state.partitioned) this.#isSilent = true
    else if (listener === undefined) time.after(this.#latency(), () => this.#refused(), machine)
    else time.after(this.#latency(), () => this.#reach(listener), listener.machine)
  }

  get isLive(): boolean {
    return this.#near === "open" && this.#far !== undefined
  }

  isOpen(): boolean {
    return this.#near === "open"
  }

  isClosed(): boolean {
    return this.#near === "closed"
  }

  bufferedBytes(): number {
    return Math.max(0, this.#unread - kernelBytes)
  }

  /** Frames on their way. */
  inFlight(direction: Direction): number {
    return this.#inFlight[direction]
  }

  /** From the supervisor. */
  send(text: string): void {
    if (this.#isSilent) this.#unread += text.length
    else this.#carry("up", text)
  }

  close(): void {
    if (this.#near === "dialing") this.terminate()
    if (this.#near !== "open") return
    this.#near = "closing"
    if (this.#isSilent) return
    this.#arrive("up", () => {
      this.#farClosed("closed with 1000")
      this.#arrive("down", () => this.#nearClosed(1000, ""))
    })
  }

  terminate(): void {
    this.#nearClosed(1006, "")
    if (!this.#isSilent) this.#arrive("up", () => this.#farClosed("closed with 1006"))
  }

  /** The network breaks: what is under way is lost, and both sides hear of it. */
  cut(): void {
    if (this.#isSilent) return
    this.#silence()
    const { time } = this.#deps
    time.after(this.#latency(), () => this.#nearClosed(1006, ""), this.machine)
    if (this.#far !== undefined)
      time.after(this.#latency(), () => this.#farClosed("closed with 1006"), this.#far.machine)
  }

  /** From now on nothing gets through, and neither side hears of it. */
  goSilent(): void {
    this.#silence()
  }

  /** What is sent from now on arrives later, all of it and in order, as after many retransmissions. */
  stall(durationMs: number): void {
    for (const way of Object.values(this.#ways))
      way.lastArrivalMs = Math.max(way.lastArrivalMs, this.#deps.time.nowMs + durationMs)
  }

  breakNext(direction: Direction, fault: FrameFault): void {
    this.#ways[direction].fault = fault
  }

  /** The supervisor is dead: its kernel ends the connection, or the whole machine is gone. */
  nearDied(how: "process" | "machine"): void {
    this.#near = "closed"
    if (how === "machine") this.#isSilent = true
    else this.#arrive("up", () => this.#farClosed("closed with 1006"))
  }

  farDied(): void {
    this.#far = undefined
    this.#cancelIdle()
    if (!this.#isSilent) this.#arrive("down", () => this.#nearClosed(1006, ""))
  }

  #silence(): void {
    this.#isSilent = true
  }

  #latency(): number {
    return this.#deps.random.int(1, this.#deps.state.latencyMs)
  }

  #refused(): void {
    if (this.#near !== "dialing") return
    this.#events.failed()
    this.#nearClosed(1006, "")
  }

  #reach(listener: Listener): void {
    if (this.#near !== "dialing" || this.#isSilent) return
    const accepted = listener.accept({
      send: (text) => {
        // What a dead process would still have said.
        if (!this.#isSilent && this.#far !== undefined) this.#carry("down", text)
        return true
      },
      close: (code, reason) => this.#closeFar(code, reason),
    })
    if (accepted === undefined) {
      this.#deps.time.after(this.#latency(), () => this.#refused(), this.machine)
      return
    }
    this.#far = { accepted, machine: listener.machine }
    this.#watchIdle()
    this.#arrive("down", () => {
      if (this.#near !== "dialing") return
      this.#near = "open"
      this.#events.opened()
    })
  }

  #closeFar(code: number, reason: string): void {
    const far = this.#far
    if (far === undefined) return
    if (!this.#isSilent) this.#arrive("down", () => this.#nearClosed(code, reason))
    this.#deps.time.after(0, () => this.#farClosed(`closed with ${code}`), far.machine)
  }

  #watchIdle(): void {
    this.#cancelIdle()
    const far = this.#far
    if (far === undefined) return
    this.#cancelIdle = this.#deps.time.after(
      idleMs,
      () => {
        this.#farClosed("idle")
        if (!this.#isSilent) this.#nearClosed(1006, "idle")
      },
      far.machine,
    )
  }

  #nearClosed(code: number, reason: string): void {
    if (this.#near === "closed") return
    this.#near = "closed"
    this.#events.closed(code, reason)
  }

  #farClosed(detail: string): void {
    const far = this.#far
    if (far === undefined) return
    this.#far = undefined
    this.#cancelIdle()
    far.accepted.closed(detail)
  }

  /** In order behind what is under way in that direction. */
  #arrive(direction: Direction, run: () => void): void {
    const { time } = this.#deps
    const way = this.#ways[direction]
    way.lastArrivalMs = Math.max(way.lastArrivalMs, time.nowMs + this.#latency())
    const machine = direction === "down" ? this.machine : this.#far?.machine
    time.after(way.lastArrivalMs - time.nowMs, run, machine)
  }

  #carry(direction: Direction, text: string): void {
    const way = this.#ways[direction]
    const { fault } = way
    if (fault === undefined || (fault !== "tear" && !isNumbered(text))) {
      this.#deliver(direction, text)
      if (way.held !== undefined && isNumbered(text)) this.#releaseHeld(direction, way)
      return
    }
    way.fault = undefined
    this.#deps.faulted(`frame ${fault} ${direction}`)
    this.#deps.trace(`${this.name} ${fault} ${direction}: ${text.slice(0, 120)}`)
    this.#carryBroken(direction, text, fault)
  }

  #carryBroken(direction: Direction, text: string, fault: FrameFault): void {
    switch (fault) {
      case "drop":
        this.#deps.time.after(lateMs, () => this.cut())
        break
      case "repeat":
        this.#deliver(direction, text)
        this.#deliver(direction, text)
        break
      case "swap":
        this.#ways[direction].held = text
        this.#deps.time.after(lateMs, () => this.#releaseHeld(direction, this.#ways[direction]))
        break
      case "tear":
        this.#deliver(direction, text.slice(0, text.length >> 1))
        this.#arrive(direction, () => this.cut())
        break
    }
  }

  #releaseHeld(direction: Direction, way: Way): void {
    const { held } = way
    way.held = undefined
    if (held !== undefined && !this.#isSilent) this.#deliver(direction, held)
  }

  #deliver(direction: Direction, text: string): void {
    this.#inFlight[direction] += 1
    this.#arrive(direction, () => {
      this.#inFlight[direction] -= 1
      if (this.#isSilent) return
      if (direction === "down") {
        if (this.#near === "open") this.#events.heard(text)
        return
      }
      this.#watchIdle()
      this.#far?.accepted.receive(text)
    })
  }
}
