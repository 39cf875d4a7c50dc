import { expect, test } from "bun:test"
import { type ChannelDownFrame, decodeChannelDown, SessionBootstrap } from "@computerd/protocol/channel"
import { decodeDown, isBootstrap } from "@computerd/session-host/channel/frames"
import fc from "fast-check"
import { contextData, newId, text, turnData } from "./process.ts"

const parts = [...text("a"), ...text("b")] as { type: "text"; text: string }[]
const failure = { code: "runtime_mcp_denied", message: "no", field: "allow[0]" } as const

const bodies = [
  { type: "initialize", context: contextData() },
  {
    type: "initialize",
    context: contextData({
      session: { id: newId("ses"), key: "k", parent: newId("ses") },
      recovery: { kind: "reconstructed", reason: "gone" },
    }),
  },
  { type: "turn", turn: turnData("x") },
  {
    type: "turn",
    turn: turnData("x", {
      input: parts,
      source: { kind: "session", requesterSessionId: newId("ses"), originTurnId: newId("trn") },
    }),
  },
  { type: "cancel_turn", turnId: newId("trn"), status: "cancelled" },
  { type: "message", turnId: newId("trn"), messageId: newId("msg"), content: parts },
  {
    type: "mcp_connection_result",
    requestId: newId("req"),
    result: { ok: true, value: { url: "http://127.0.0.1:1/mcp", headers: { Authorization: "Bearer a" } } },
  },
  { type: "mcp_connection_result", requestId: newId("req"), result: { ok: false, error: failure } },
  {
    type: "ask_result",
    requestId: newId("req"),
    result: { ok: true, value: { questionId: newId("qst"), answer: parts } },
  },
  { type: "ask_result", requestId: newId("req"), result: { ok: false, error: failure } },
  { type: "shutdown", graceMs: 0 },
] as const

const frames = [
  { kind: "welcome", protocol: 1, received: 3 },
  { kind: "reject", error: { code: "superseded", message: "old" } },
  { kind: "ack", ack: 0 },
  { kind: "invalid", seq: 3, message: "bad" },
  { kind: "invalid", message: "bad" },
  { kind: "ping" },
  { kind: "pong" },
  ...bodies.map((body) => ({ kind: "frame" as const, seq: 1, ack: 0, body })),
] as unknown as readonly ChannelDownFrame[]

/** Every place in a JSON value, as the steps that lead to it. */
const places = (value: unknown, path: readonly string[] = []): (readonly string[])[] => [
  path,
  ...(typeof value === "object" && value !== null
    ? Object.entries(value).flatMap(([key, inner]) => places(inner, [...path, key]))
    : []),
]

type Change =
  | { readonly kind: "replace"; readonly value: unknown }
  | { readonly kind: "remove" }
  | { readonly kind: "add" }

const changed = (value: unknown, path: readonly string[], change: Change): unknown => {
  const [step, ...rest] = path
  if (step === undefined) {
    if (change.kind === "add" && typeof value === "object" && value !== null && !Array.isArray(value))
      return { ...value, surplus: 1 }
    return change.kind === "replace" ? change.value : value
  }
  const copy = Array.isArray(value) ? [...value] : { ...(value as object) }
  if (rest.length === 0 && change.kind === "remove") Reflect.deleteProperty(copy, step)
  else Reflect.set(copy, step, changed(Reflect.get(copy, step), rest, change))
  return copy
}

test("every kind of frame that the schema knows is accepted, unchanged", () => {
  const kinds = new Set<string>()
  for (const frame of frames) {
    const line = JSON.stringify(frame)
    expect(decodeChannelDown(line)).toEqual({ kind: "ok", frame })
    expect(decodeDown(line)).toEqual({ kind: "ok", frame })
    kinds.add(frame.kind === "frame" ? `frame ${frame.body.type}` : frame.kind)
  }
  expect([...kinds].sort()).toEqual([
    "ack",
    "frame ask_result",
    "frame cancel_turn",
    "frame initialize",
    "frame mcp_connection_result",
    "frame message",
    "frame shutdown",
    "frame turn",
    "invalid",
    "ping",
    "pong",
    "reject",
    "welcome",
  ])
})

const change: fc.Arbitrary<Change> = fc.oneof(
  fc.record({
    kind: fc.constant("replace" as const),
    value: fc.oneof(
      fc.constantFrom(null, true, "", "x", -1, 0, 1.5, 1e300, [], {}, [{}], "cancelled", "trn_1"),
      fc.constantFrom(...frames.flatMap((frame) => (frame.kind === "frame" ? [frame.body] : []))),
    ),
  }),
  fc.constant({ kind: "remove" as const }),
  fc.constant({ kind: "add" as const }),
)

const mutated = fc
  .constantFrom(...frames)
  .chain((frame) =>
    fc.tuple(
      fc.constant(frame),
      fc.array(fc.tuple(fc.constantFrom(...places(frame)), change), { maxLength: 3 }),
    ),
  )
  .map(([frame, changes]) => {
    let value: unknown = frame
    for (const [path, one] of changes)
      try {
        value = changed(value, path, one)
      } catch {
        // An earlier change took the place away.
      }
    return JSON.stringify(value) ?? "null"
  })

/** What the predicates leave to the supervisor: the form of a time and the registry of codes. */
const withKnown = (line: string): string =>
  line
    .replaceAll(/"code":"[^"]*"/g, '"code":"internal"')
    .replaceAll(/"createdAt":"[^"]*"/g, '"createdAt":"2026-01-01T00:00:00.000Z"')

const unknownCode = JSON.stringify({
  kind: "frame",
  seq: 1,
  ack: 0,
  body: {
    type: "ask_result",
    requestId: "req_01a22e70-760b-705e-8c83-ace81c97ec7a",
    result: { ok: false, error: { code: "x", message: "no" } },
  },
})

test("whatever is done to a frame, the predicates and the schema agree", () => {
  fc.assert(
    fc.property(mutated, (line) => {
      const schema = decodeChannelDown(line)
      const ours = decodeDown(line)
      if (schema.kind === "ok") {
        expect(ours).toEqual(schema)
      } else if (ours.kind === "ok") {
        expect(decodeChannelDown(withKnown(line)).kind).toBe("ok")
      } else {
        expect(ours.seq).toEqual(schema.seq)
      }
    }),
    { numRuns: 5_000, examples: [[unknownCode]] },
  )
})

test("refusals name no value of the frame", () => {
  const decoded = decodeDown(
    JSON.stringify({ kind: "frame", seq: 1, ack: 0, body: { type: "turn", turn: "hidden" } }),
  )
  expect(decoded).toEqual({
    kind: "invalid",
    seq: 1,
    message: "frame with body type turn has the wrong shape",
  })
})

test("a bootstrap is accepted exactly when the schema accepts it", () => {
  const bootstrap = {
    channelUrl: "ws://127.0.0.1:1/",
    secret: "s",
    sessionId: newId("ses"),
    generation: 1,
    bundlePath: "/b/index.js",
    agent: "worker",
  }
  expect(isBootstrap(bootstrap)).toBe(true)
  expect(SessionBootstrap.safeParse(bootstrap).success).toBe(true)
  for (const key of Object.keys(bootstrap)) {
    const { [key as keyof typeof bootstrap]: _left, ...rest } = bootstrap
    expect(isBootstrap(rest)).toBe(false)
  }
  expect(isBootstrap({ ...bootstrap, more: 1 })).toBe(false)
  expect(isBootstrap({ ...bootstrap, generation: 0 })).toBe(false)
})
