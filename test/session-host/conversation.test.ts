import { expect, test } from "bun:test"
import type { ChannelDown, ChannelUp } from "@computerd/protocol/channel"
import { arrival, type Numbered, outboundFrames } from "@computerd/protocol/numbering"
import { Conversation, type UpFrame } from "@computerd/session-host/channel/conversation"
import { channelTiming, redialDelayMs } from "@computerd/session-host/channel/timing"
import fc from "fast-check"
import { newId } from "./process.ts"

type DownFrame = Numbered<ChannelDown> & { readonly ack: number }

/**
 * Both ends of a channel without a wire: frames lie in two queues until they are delivered, and a cut loses what lies
 * there. The far end keeps the same rules with the parts of `protocol`.
 */
class Pair {
  readonly near = new Conversation()
  readonly said: string[] = []
  readonly heard: string[] = []
  readonly toldNear: number[] = []
  #told = 0
  #received = 0
  readonly #down = outboundFrames<ChannelDown>()
  #upward: UpFrame[] = []
  #downward: DownFrame[] = []

  say(): void {
    const turnId = newId("trn")
    this.said.push(turnId)
    const body: ChannelUp = { type: "turn_started", turnId }
    const seq = this.near.say(body)!
    this.#upward.push(...this.near.after(seq - 1))
  }

  tell(): void {
    this.#told += 1
    const frame = this.#down.push({ type: "shutdown", graceMs: this.#told })!
    this.#downward.push({ ...frame, ack: this.#received })
  }

  deliverUp(): void {
    const frame = this.#upward.shift()
    if (frame === undefined) return
    this.#down.acknowledge(frame.ack)
    if (frame.kind !== "frame" || arrival(this.#received, frame.seq) !== "apply") return
    this.#received = frame.seq
    if (frame.body.type === "turn_started") this.heard.push(frame.body.turnId)
  }

  deliverDown(): void {
    const frame = this.#downward.shift()
    if (frame === undefined) return
    expect(this.near.acknowledge(frame.ack)).toBe(true)
    const what = this.near.arrive(frame.seq)
    expect(what).not.toBe("gap")
    if (what === "apply" && frame.body.type === "shutdown") this.toldNear.push(frame.body.graceMs)
    const ack = this.near.takeAck()
    if (ack !== undefined) this.#upward.push(ack)
  }

  /** The line breaks and the ends greet each other on the next one. */
  cut(): void {
    expect(this.near.acknowledge(this.#received)).toBe(true)
    this.#upward = [...this.near.after(this.#received)]
    this.#down.acknowledge(this.near.received)
    this.#downward = this.#down.after(this.near.received).map((frame) => ({ ...frame, ack: this.#received }))
  }

  settle(): void {
    this.cut()
    while (this.#upward.length + this.#downward.length > 0) {
      this.deliverUp()
      this.deliverDown()
    }
  }
}

const steps = ["say", "tell", "deliverUp", "deliverDown", "cut"] as const

test("N1 N2 N3 whatever is cut when, each frame is applied once and in order on both sides", () => {
  fc.assert(
    fc.property(fc.array(fc.constantFrom(...steps), { maxLength: 120 }), (schedule) => {
      const pair = new Pair()
      for (const step of schedule) pair[step]()
      pair.settle()
      pair.settle()
      expect(pair.heard).toEqual(pair.said)
      expect(pair.toldNear).toEqual(Array.from(pair.toldNear, (_, index) => index + 1))
      expect(pair.toldNear).toHaveLength(schedule.filter((step) => step === "tell").length)
      expect(pair.near.unacknowledged).toBe(0)
    }),
    { numRuns: 1_000 },
  )
})

test("an acknowledgement of what was never sent is refused and forgets nothing", () => {
  const conversation = new Conversation()
  conversation.say({ type: "ready" })
  expect(conversation.acknowledge(2)).toBe(false)
  expect(conversation.unacknowledged).toBe(1)
})

test("redials double their wait up to the bound and never fall in step", () => {
  for (let failures = 0; failures < 60; failures++) {
    const full = Math.min(channelTiming.redialMaxMs, channelTiming.redialFirstMs * 2 ** failures)
    expect(redialDelayMs(channelTiming, failures, 0)).toBe(full / 2)
    expect(redialDelayMs(channelTiming, failures, 0.5)).toBe(full * 0.75)
  }
})
