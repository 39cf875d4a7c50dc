/**
 * Stands between supervisors and their control plane, frame by frame: cuts connections, holds frames back, delivers them
 * twice or in another order, keeps those of a broken connection for later, and swallows answers.
 */
import { linkPath } from "@computerd/protocol/link"

/** What the network does to frames at present. */
export interface Weather {
  /** Each frame takes between nothing and so long; the order stays. */
  readonly delayMaxMs: number
  /** Shares of the frames. */
  readonly duplicated: number
  readonly overtaken: number
}

export const calm: Weather = { delayMaxMs: 0, duplicated: 0, overtaken: 0 }

export interface Link {
  readonly url: string
  readonly weather: (weather: Weather) => void
  /** Breaks every connection; both ends learn of it. */
  readonly cut: () => void
  /** Supervisors lose their connections; what they sent stays under way and arrives after that, on the old ones. */
  readonly cutLate: (laterMs: number) => void
  /** The next answer to a mutating call is lost with its connection. */
  readonly loseAnswer: () => void
  /** Computers whose supervisor has been attached for so long. */
  readonly attached: (forMs: number) => ReadonlySet<string>
  /** What was done to frames and connections so far. */
  readonly counts: () => Readonly<Record<string, number>>
  readonly close: () => Promise<void>
}

interface SocketData {
  readonly authorization: string
  pair: Pair | undefined
}

/** Requests and numbered frames; the first frames of a connection have an order by nature. */
const movable = new Set(["frame", "ack", "admit", "admitted", "receipt", "abandon"])
const overtakeMs = 30

const kindOf = (text: string): string => /^\{"kind":"([a-z]+)"/.exec(text)?.[1] ?? ""

/** One direction of a connection. */
class Lane {
  readonly #deliver: (text: string) => void
  readonly #weather: () => Weather
  readonly #random: () => number
  readonly #count: (what: string) => void
  #held: string | undefined
  #queue: Promise<void> = Promise.resolve()

  constructor(lane: {
    deliver: (text: string) => void
    weather: () => Weather
    random: () => number
    count: (what: string) => void
  }) {
    this.#deliver = lane.deliver
    this.#weather = lane.weather
    this.#random = lane.random
    this.#count = lane.count
  }

  take(text: string): void {
    const { overtaken, duplicated } = this.#weather()
    const isMovable = movable.has(kindOf(text))
    if (isMovable && this.#held === undefined && this.#random() < overtaken) {
      this.#count("frames overtaken")
      this.#held = text
      setTimeout(() => this.#release(), overtakeMs)
      return
    }
    this.#send(text)
    if (isMovable && this.#random() < duplicated) {
      this.#count("frames duplicated")
      this.#send(text)
    }
    this.#release()
  }

  #release(): void {
    const held = this.#held
    this.#held = undefined
    if (held !== undefined) this.#send(held)
  }

  #send(text: string): void {
    const { delayMaxMs } = this.#weather()
    if (delayMaxMs > 0) {
      this.#count("frames delayed")
      const delayMs = this.#random() * delayMaxMs
      this.#queue = this.#queue.then(() => Bun.sleep(delayMs))
    }
    this.#queue = this.#queue.then(() => this.#deliver(text))
  }
}

/** A supervisor's connection and its continuation to the control plane. */
interface Pair {
  readonly up: (text: string) => void
  readonly cut: () => void
  readonly cutLate: (laterMs: number) => void
  /** The supervisor has gone by itself. */
  readonly gone: () => void
}

export interface LinkOptions {
  readonly controlPlane: () => string
  readonly random: () => number
}

export const openLink = ({ controlPlane, random }: LinkOptions): Link => {
  const pairs = new Set<Pair>()
  const counts: Record<string, number> = {}
  const attached = new Map<string, { readonly pair: Pair; readonly sinceMs: number }>()
  let weather = calm
  let answersToLose = 0

  const count = (what: string): void => {
    counts[what] = (counts[what] ?? 0) + 1
  }

  const connect = (socket: Bun.ServerWebSocket<SocketData>): Pair => {
    const headers = { authorization: socket.data.authorization }
    const upstream = new WebSocket(`${controlPlane().replace("http", "ws")}${linkPath}`, { headers } as never)
    const opened = new Promise<void>((resolve) => upstream.addEventListener("open", () => resolve()))
    const kept: string[] = []
    let computer = ""
    let state: "open" | "half" | "closed" = "open"
    const lane = { weather: () => weather, random, count }
    const toPlane = new Lane({
      ...lane,
      deliver: (text) => {
        if (state === "half") kept.push(text)
        else if (upstream.readyState === WebSocket.OPEN) upstream.send(text)
      },
    })
    const toSupervisor = new Lane({
      ...lane,
      deliver: (text) => void (state === "open" && socket.send(text)),
    })
    const end = (): void => {
      if (state === "closed") return
      state = "closed"
      pairs.delete(pair)
      if (attached.get(computer)?.pair === pair) attached.delete(computer)
      upstream.close()
      socket.terminate()
    }
    const lose = (text: string): boolean => {
      if (answersToLose === 0 || kindOf(text) !== "admitted" || !/"(turnId|holdId)"/.test(text)) return false
      answersToLose -= 1
      count("answers lost")
      return true
    }
    upstream.addEventListener("message", ({ data }) => {
      const text = String(data)
      if (kindOf(text) === "attached") attached.set(computer, { pair, sinceMs: performance.now() })
      if (lose(text)) end()
      else toSupervisor.take(text)
    })
    upstream.addEventListener("close", ({ code, reason }) => {
      if (state === "open") socket.close(code >= 3000 ? code : 1011, reason)
      end()
    })
    const pair: Pair = {
      up: (text) => {
        if (kindOf(text) === "attach") computer = /"computerId":"([^"]+)"/.exec(text)?.[1] ?? ""
        void opened.then(() => toPlane.take(text))
      },
      cut: () => {
        count("connections cut")
        end()
      },
      gone: () => {
        if (state === "open") end()
      },
      cutLate: (laterMs) => {
        if (state !== "open") return
        count("connections cut with frames under way")
        state = "half"
        socket.terminate()
        setTimeout(() => {
          for (const text of kept) {
            if (upstream.readyState !== WebSocket.OPEN) break
            count("frames of a dead connection")
            upstream.send(text)
          }
          end()
        }, laterMs)
      },
    }
    pairs.add(pair)
    return pair
  }

  const server = Bun.serve<SocketData>({
    hostname: "127.0.0.1",
    port: 0,
    idleTimeout: 0,
    fetch: (request, own) => {
      const authorization = request.headers.get("authorization") ?? ""
      const path = new URL(request.url).pathname
      if (path === linkPath && request.headers.get("upgrade") !== null) {
        const upgraded = own.upgrade(request, { data: { authorization, pair: undefined } })
        return upgraded ? undefined : new Response(null, { status: 426 })
      }
      return fetch(`${controlPlane()}${path}`, { headers: { authorization } }).catch(
        () => new Response(null, { status: 502 }),
      )
    },
    websocket: {
      idleTimeout: 0,
      maxPayloadLength: 64 * 1024 * 1024,
      open: (socket) => {
        socket.data.pair = connect(socket)
      },
      message: (socket, data) => socket.data.pair?.up(String(data)),
      close: (socket) => socket.data.pair?.gone(),
    },
  })

  return {
    url: `http://127.0.0.1:${server.port}`,
    weather: (next) => {
      weather = next
    },
    cut: () => {
      for (const pair of [...pairs]) pair.cut()
    },
    cutLate: (laterMs) => {
      for (const pair of [...pairs]) pair.cutLate(laterMs)
    },
    loseAnswer: () => {
      answersToLose += 1
    },
    attached: (forMs) => {
      const now = performance.now()
      return new Set([...attached].flatMap(([id, { sinceMs }]) => (now - sinceMs >= forMs ? [id] : [])))
    },
    counts: () => counts,
    close: async () => {
      for (const pair of [...pairs]) pair.cut()
      await server.stop(true)
    },
  }
}
