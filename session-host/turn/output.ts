/**
 * What Turns write, on its way to the supervisor. Frames are kept until they are acknowledged, so a writer that is
 * faster than the link (or writes while there is none) waits here; frames that settle Turns never do.
 */
import type { ChannelUp } from "@computerd/protocol/channel"
import type { TurnId } from "@computerd/protocol/ids"
import { outputChunkMaxBytes } from "@computerd/protocol/limits"
import { HelmrError } from "@helmr/sdk/error"
import { failure } from "./failure.ts"

/** Sent and not acknowledged: well below what the channel keeps, so that other frames always have room. */
const unacknowledgedMaxFrames = 1_000
const unacknowledgedMaxBytes = 4 * 1_048_576
/** Of writers that do not await; beyond this a write is refused. */
const waitingMaxBytes = 32 * 1_048_576

interface Waiting {
  readonly turnId: TurnId
  readonly text: string
  readonly bytes: number
  readonly sent: () => void
  readonly refused: (error: HelmrError) => void
}

export interface Output {
  readonly write: (turnId: TurnId, text: string) => Promise<void>
  /** Everything up to and including this frame was received. */
  readonly acknowledged: (seq: number) => void
  /** The Turn has ended: what it wrote and did not await is refused. */
  readonly settle: (turnId: TurnId) => void
}

/** Pieces of at most the chunk limit, never cut inside a character. */
export const chunksOf = (text: string): readonly string[] => {
  // A UTF-16 unit takes at most three bytes.
  const length = Math.floor(outputChunkMaxBytes / 3)
  if (Buffer.byteLength(text) <= outputChunkMaxBytes) return text === "" ? [] : [text]
  const chunks: string[] = []
  for (let start = 0; start < text.length; ) {
    const end = start + length
    const splitsPair = end < text.length && /[\uD800-\uDBFF]/.test(text.charAt(end - 1))
    const next = splitsPair ? end - 1 : end
    chunks.push(text.slice(start, next))
    start = next
  }
  return chunks
}

export const createOutput = (send: (body: ChannelUp) => number | undefined): Output => {
  let flying: { readonly seq: number; readonly bytes: number }[] = []
  let flyingBytes = 0
  let waiting: Waiting[] = []
  let waitingBytes = 0

  const hasRoom = (): boolean =>
    flying.length < unacknowledgedMaxFrames && flyingBytes < unacknowledgedMaxBytes

  const launch = (turnId: TurnId, text: string, bytes: number): void => {
    const seq = send({ type: "turn_output", turnId, text })
    if (seq === undefined) return
    flying.push({ seq, bytes })
    flyingBytes += bytes
  }

  const pump = (): void => {
    while (hasRoom()) {
      const next = waiting.shift()
      if (next === undefined) return
      waitingBytes -= next.bytes
      launch(next.turnId, next.text, next.bytes)
      next.sent()
    }
  }

  const piece = (turnId: TurnId, text: string): Promise<void> => {
    const bytes = Buffer.byteLength(text)
    if (waiting.length === 0 && hasRoom()) {
      launch(turnId, text, bytes)
      return Promise.resolve()
    }
    if (waitingBytes + bytes > waitingMaxBytes) {
      const message = "output.write was called faster than its text could leave; await each call"
      return Promise.reject(new HelmrError(failure("content_limit_exceeded", message)))
    }
    waitingBytes += bytes
    return new Promise((sent, refused) => waiting.push({ turnId, text, bytes, sent, refused }))
  }

  return {
    write: async (turnId, text) => {
      await Promise.all(chunksOf(text).map((chunk) => piece(turnId, chunk)))
    },
    acknowledged: (seq) => {
      const left = flying.findIndex((frame) => frame.seq > seq)
      const done = left === -1 ? flying : flying.slice(0, left)
      flying = left === -1 ? [] : flying.slice(left)
      for (const frame of done) flyingBytes -= frame.bytes
      pump()
    },
    settle: (turnId) => {
      const refused = waiting.filter((one) => one.turnId === turnId)
      waiting = waiting.filter((one) => one.turnId !== turnId)
      for (const one of refused) {
        waitingBytes -= one.bytes
        one.refused(
          new HelmrError(
            failure("turn_settled", "The Turn ended before this text was sent; await output.write."),
          ),
        )
      }
    },
  }
}
