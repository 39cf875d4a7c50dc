import { expect, test } from "bun:test"
import { decodeChannelUp } from "@computerd/protocol/channel"
import { idSource } from "@computerd/protocol/ids"
import { frameMaxBytes } from "@computerd/protocol/limits"
import { decodeLinkDown, decodeLinkUp } from "@computerd/protocol/link"
import fc from "fast-check"

const newId = idSource(() => Bun.randomUUIDv7())

test("a valid frame decodes to itself", () => {
  const frame = {
    kind: "frame",
    epoch: 1,
    seq: 1,
    ack: 0,
    atMs: 5,
    body: { type: "turn_started", sessionId: newId("ses"), generation: 1, turnId: newId("trn") },
  }
  expect(decodeLinkUp(JSON.stringify(frame))).toEqual({ kind: "ok", frame } as never)
})

test("an invalid frame names the field and echoes its number", () => {
  const text = JSON.stringify({ kind: "frame", seq: 7, ack: 0, body: { type: "ready", extra: 1 } })
  expect(decodeChannelUp(text)).toEqual({
    kind: "invalid",
    seq: 7,
    message: "body.extra: is not a known field",
  })
})

test("what is not JSON, not UTF-8 or too large is invalid without being parsed", () => {
  expect(decodeLinkDown("{").kind).toBe("invalid")
  expect(decodeLinkDown(new Uint8Array([0xff, 0xfe])).kind).toBe("invalid")
  expect(decodeLinkDown(" ".repeat(frameMaxBytes + 1)).kind).toBe("invalid")
})

test("no input makes a decoder throw", () => {
  fc.assert(
    fc.property(fc.oneof(fc.string(), fc.json(), fc.uint8Array()), (data) => {
      for (const decode of [decodeChannelUp, decodeLinkUp, decodeLinkDown]) {
        expect(["ok", "invalid"]).toContain(decode(data).kind)
      }
    }),
  )
})
