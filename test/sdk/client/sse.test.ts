import { expect, test } from "bun:test"
import { createSseParser, eventMaxLength } from "@helmr/sdk/client/events/sse"
import fc from "fast-check"

const parse = (pieces: readonly string[]): readonly string[] => {
  const parser = createSseParser()
  return pieces.flatMap((piece) => parser.add(piece) ?? ["too large"])
}

/** Any bytes in any pieces, as the connection reads them. */
const parseBytes = (bytes: Uint8Array, cuts: readonly number[]): readonly string[] => {
  const decoder = new TextDecoder()
  const places = [0, ...cuts.map((cut) => cut % (bytes.length + 1)).toSorted((a, b) => a - b), bytes.length]
  return parse(
    places.slice(1).map((end, index) => decoder.decode(bytes.subarray(places[index], end), { stream: true })),
  )
}

const lineEnd = fc.constantFrom("\n", "\r", "\r\n")
const value = fc.string({ unit: fc.constantFrom("a", " ", ":", "é", "𝒳", "\uFEFF"), maxLength: 6 })
const noise = fc.oneof(
  value.map((text) => `:${text}`),
  value.map((text) => `id: ${text}`),
  fc.constantFrom("event: turn_output", "retry: 10", "dataless", "data2: x", "Data: x"),
)
const dataLine = value.map((text) => ({ line: `data: ${text}`, data: text }))
const event = fc.record({
  lines: fc.array(
    fc.oneof(
      dataLine,
      noise.map((line) => ({ line, data: undefined })),
    ),
    { maxLength: 5 },
  ),
  ends: fc.array(lineEnd, { minLength: 6, maxLength: 6 }),
})

test("every event comes whole, whatever ends its lines and wherever the bytes are cut", () => {
  fc.assert(
    fc.property(fc.array(event), fc.array(fc.nat()), fc.boolean(), (events, cuts, marked) => {
      const text = events
        .flatMap(({ lines, ends }) =>
          [...lines.map(({ line }) => line), ""].map((line, at) => line + ends[at]),
        )
        .join("")
      // A CR and a LF from two lines would be one end.
      fc.pre(!/\r(?=\n)/.test(text) || !events.some(({ ends }) => ends.includes("\r")))
      const expected = events.flatMap(({ lines }) => {
        const data = lines.flatMap((line) => (line.data === undefined ? [] : [line.data]))
        return data.length === 0 ? [] : [data.join("\n")]
      })
      const bytes = new TextEncoder().encode(`${marked ? "\uFEFF" : ""}${text}`)
      expect(parseBytes(bytes, cuts)).toEqual(expected)
    }),
    { numRuns: 500 },
  )
})

test.each([
  ["one space after the colon belongs to the form", "data:  a\n\ndata:b\n\n", [" a", "b"]],
  ["a field without a colon has an empty value", "data\ndata\n\n", ["\n"]],
  ["an event without data is none", "id: 1\n\nevent: x\n\n", []],
  ["what is not ended by an empty line is not there yet", "data: a\n", []],
  ["a comment inside of an event belongs to nothing", "data: a\n:\ndata: b\n\n", ["a\nb"]],
  ["carriage returns alone end lines", "data: a\rdata: b\r\rdata: c\r\r", ["a\nb", "c"]],
] as const)("%s", (_, text, events) => {
  expect(parse([text])).toEqual([...events])
  expect(parse([...text])).toEqual([...events])
})

test("an event is told as soon as its empty line ends with a carriage return, once", () => {
  expect(createSseParser().add("data: a\r\n\r")).toEqual(["a"])
  expect(parse(["data: a\r\n\r", "\ndata: b\r", "\n\r", "", "\n"])).toEqual(["a", "b"])
})

test("an event that never ends is not kept beyond its bound, also one of lines without data", () => {
  const parser = createSseParser()
  expect(parser.add(`data: ${"x".repeat(eventMaxLength)}`)).toBeUndefined()
  const empty = createSseParser()
  const piece = "data:\n".repeat(eventMaxLength / 8)
  expect(Array.from({ length: 9 }, () => empty.add(piece)).at(-1)).toBeUndefined()
})

test("an event in very many pieces is whole", () => {
  const text = "x".repeat(50_000)
  expect(parse([..."data: ", ...text, ..."\n\n"])).toEqual([text])
})
