/**
 * What an attempt needs of the network: a socket that carries texts in order until it closes. The product's is
 * in `websocket.ts`.
 */
import type { Failure } from "@computerd/protocol/errors"

export interface DialTarget {
  /** `ws://…` or `wss://…`. */
  readonly url: string
  readonly credential: string
}

/** What happens on a socket, in order. After `closed` nothing more does. */
export interface SocketEvents {
  readonly opened: () => void
  readonly heard: (data: unknown) => void
  readonly failed: () => void
  readonly closed: (code: number, reason: string) => void
}

export interface LinkSocket {
  readonly isOpen: () => boolean
  readonly isClosed: () => boolean
  readonly bufferedBytes: () => number
  readonly send: (text: string) => void
  /** Asks the peer to close too. */
  readonly close: () => void
  /** Cuts it without the peer's part. */
  readonly terminate: () => void
}

export interface LinkTransport {
  readonly dial: (target: DialTarget, events: SocketEvents) => LinkSocket
  /** Why a dial found no link, where the control plane says so. */
  readonly refusal: (target: DialTarget) => Promise<Failure | undefined>
}
