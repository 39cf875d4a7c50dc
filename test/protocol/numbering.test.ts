import { expect, test } from "bun:test"
import { arrival, outboundFrames } from "@computerd/protocol/numbering"
import fc from "fast-check"

test("N1 a frame stays until it is acknowledged and is offered again after a reconnect", () => {
  const frames = outboundFrames<string>()
  for (const body of ["a", "b", "c"]) frames.push(body)
  frames.acknowledge(1)
  expect(frames.after(1).map((frame) => frame.body)).toEqual(["b", "c"])
  expect(frames.after(2).map((frame) => frame.seq)).toEqual([3])
  frames.acknowledge(3)
  expect(frames.size()).toBe(0)
  expect(frames.push("d")).toEqual({ seq: 4, body: "d" })
})

test("a full buffer refuses a frame and takes no number for it", () => {
  const frames = outboundFrames<number>({ lastSeq: 0, pending: [] }, 2)
  frames.push(1)
  frames.push(2)
  expect(frames.push(3)).toBeUndefined()
  frames.acknowledge(1)
  expect(frames.push(3)).toEqual({ seq: 3, body: 3 })
})

test("N2 N3 every frame is applied once and in order over a link that drops, cuts and repeats", () => {
  fc.assert(
    fc.property(fc.array(fc.integer({ min: 0, max: 4 }), { maxLength: 200 }), (steps) => {
      const sender = outboundFrames<number>()
      const applied: number[] = []
      let wire: { seq: number; body: number }[] = []
      let sent = 0
      const deliver = () => {
        for (const frame of wire) {
          if (arrival(applied.length, frame.seq) === "gap") break
          if (arrival(applied.length, frame.seq) === "apply") applied.push(frame.body)
        }
        wire = []
      }
      for (const step of steps) {
        if (step === 0 || step === 1) {
          const frame = sender.push(sent)
          sent += 1
          if (frame !== undefined) wire.push(frame)
        }
        if (step === 2) deliver()
        if (step === 3) wire = [...sender.after(applied.length)]
        if (step === 4) {
          wire.shift()
          sender.acknowledge(applied.length)
        }
      }
      wire = [...sender.after(applied.length)]
      deliver()
      expect(applied).toEqual(Array.from({ length: sent }, (_, index) => index))
    }),
  )
})
