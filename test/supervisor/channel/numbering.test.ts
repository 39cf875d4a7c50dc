import { expect, test } from "bun:test"
import type { ChannelUp, ChannelUpFrame } from "@computerd/protocol/channel"
import { Generation, idSource } from "@computerd/protocol/ids"
import { outboundFrames } from "@computerd/protocol/numbering"
import { type ChannelPeer, channelMove } from "@computerd/supervisor/channel/machine"
import { bindInRange } from "@computerd/supervisor/channel/port"
import { findBySecret, newSecret, presentedSecret, secretHash } from "@computerd/supervisor/channel/secret"
import fc from "fast-check"

const newId = idSource(() => Bun.randomUUIDv7())
const identity = { sessionId: newId("ses"), generation: Generation.parse(3) }
const peer = (part: Partial<ChannelPeer> = {}): ChannelPeer => ({
  ...identity,
  received: 0,
  sent: 5,
  ...part,
})
const hello = (part: object = {}): ChannelUpFrame => ({
  kind: "hello",
  protocol: 1,
  ...identity,
  received: 0,
  ...part,
})

test("CH1 nothing is taken before hello", () => {
  const frame: ChannelUpFrame = { kind: "frame", seq: 1, ack: 0, body: { type: "ready" } }
  expect(channelMove("awaiting_hello", peer(), frame)).toMatchObject({ do: "hang_up" })
  expect(channelMove("awaiting_hello", peer(), hello())).toEqual({ do: "welcome", replayAfter: 0 })
})

test("a hello of another version, another process or an impossible past is rejected for good", () => {
  const code = (frame: ChannelUpFrame): unknown => channelMove("awaiting_hello", peer(), frame)
  expect(code(hello({ protocol: 2 }))).toMatchObject({
    do: "reject",
    error: { code: "unsupported_protocol" },
  })
  expect(code(hello({ generation: 2 }))).toMatchObject({ do: "reject", error: { code: "superseded" } })
  expect(code(hello({ sessionId: newId("ses") }))).toMatchObject({
    do: "reject",
    error: { code: "superseded" },
  })
  expect(code(hello({ received: 6 }))).toMatchObject({ do: "reject", error: { code: "invalid_frame" } })
})

test("an acknowledgement of what was never sent ends the connection", () => {
  expect(channelMove("open", peer(), { kind: "ack", ack: 6 })).toMatchObject({ do: "hang_up" })
  expect(channelMove("open", peer(), { kind: "ack", ack: 5 })).toEqual({ do: "acknowledge", ack: 5 })
})

/** What the network does with the next frame of a connection, which keeps order but may break at any point. */
const weather = fc.array(fc.constantFrom("say", "deliver", "break", "again"), { maxLength: 120 })

test("CH2 whatever breaks and is sent again: every frame is applied once and in order", () => {
  fc.assert(
    fc.property(weather, (course) => {
      const outbound = outboundFrames<ChannelUp>()
      const applied: number[] = []
      let received = 0
      let wire: ChannelUpFrame[] = []
      const put = (seq: number, body: ChannelUp): void => void wire.push({ kind: "frame", seq, ack: 0, body })
      const deliver = (): void => {
        const frame = wire.shift()
        if (frame === undefined) return
        const move = channelMove("open", peer({ received }), frame)
        if (move.do === "hang_up") reconnect()
        if (move.do !== "apply") return
        applied.push(move.seq)
        received = move.seq
      }
      const reconnect = (): void => {
        wire = []
        outbound.acknowledge(received)
        for (const { seq, body } of outbound.after(received)) put(seq, body)
      }
      for (const event of course) {
        if (event === "say") {
          const frame = outbound.push({ type: "ready" })
          if (frame !== undefined) put(frame.seq, frame.body)
        } else if (event === "deliver") deliver()
        else if (event === "break") reconnect()
        else for (const { seq, body } of outbound.after(0)) put(seq, body)
      }
      reconnect()
      while (wire.length > 0) deliver()
      expect(applied).toEqual(Array.from({ length: outbound.lastSeq() }, (_, index) => index + 1))
    }),
  )
})

test("a secret is found by its hash among many, and only as the whole header", () => {
  const secrets = Array.from({ length: 5 }, () =>
    newSecret((count) => crypto.getRandomValues(new Uint8Array(count))),
  )
  const candidates = secrets.map((secret, index) => ({ index, secretHash: secretHash(secret) }))
  expect(Buffer.from(secrets[0]!, "base64url")).toHaveLength(32)
  for (const [index, secret] of secrets.entries()) expect(findBySecret(candidates, secret)?.index).toBe(index)
  expect(findBySecret(candidates, "")).toBeUndefined()
  expect(findBySecret([{ secretHash: "short" }], secrets[0]!)).toBeUndefined()
  expect(presentedSecret("Bearer a, Bearer b")).toBe("a, Bearer b")
  expect(presentedSecret("bearer a")).toBeUndefined()
  expect(presentedSecret(null)).toBeUndefined()
})

test("a busy port is stepped over, another error is not, and a full range is named", () => {
  const busy = (taken: readonly number[]) => (port: number) => {
    if (taken.includes(port)) throw Object.assign(new Error("busy"), { code: "EADDRINUSE" })
    return port
  }
  const range = { first: 2000, last: 2003 }
  const search = { range, preferred: undefined, start: 0.5, bind: busy([2002, 2003]) }
  expect(bindInRange(search)).toEqual({ ok: true, value: 2000 })
  expect(bindInRange({ ...search, preferred: 2001 })).toEqual({ ok: true, value: 2001 })
  expect(bindInRange({ ...search, preferred: 9 })).toEqual({ ok: true, value: 2000 })
  expect(bindInRange({ ...search, bind: busy([2000, 2001, 2002, 2003]) })).toMatchObject({
    ok: false,
    error: { field: "ports" },
  })
  const denied = (): never => {
    throw new Error("denied")
  }
  expect(() => bindInRange({ ...search, bind: denied })).toThrow("denied")
})
