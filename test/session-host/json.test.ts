import { expect, test } from "bun:test"
import { strictJson } from "@computerd/session-host/turn/json"
import fc from "fast-check"

const roomy = 1_000_000

test("what JSON can write and read back unchanged passes as it is", () => {
  fc.assert(
    fc.property(fc.jsonValue({ maxDepth: 6, noUnicodeString: false }), (value) => {
      fc.pre(!JSON.stringify(value).includes("__proto__"))
      expect(strictJson(value, roomy)).toEqual({ kind: "ok", value: JSON.parse(JSON.stringify(value)) })
    }),
    { numRuns: 500 },
  )
})

test("whatever passes is the same after it was written and read", () => {
  fc.assert(
    fc.property(
      fc.anything({
        withBigInt: true,
        withDate: true,
        withMap: true,
        withSet: true,
        withTypedArray: true,
        withSparseArray: true,
        withNullPrototype: true,
        withObjectString: true,
        maxDepth: 4,
      }),
      (value) => {
        const strict = strictJson(value, roomy)
        if (strict.kind !== "ok") return
        expect(JSON.parse(JSON.stringify(strict.value))).toEqual(strict.value)
        expect(JSON.parse(JSON.stringify(value))).toEqual(strict.value)
      },
    ),
    { numRuns: 2_000 },
  )
})

test("minus zero is zero, as it would read back", () => {
  const strict = strictJson([-0], roomy)
  expect(strict.kind === "ok" && Object.is((strict.value as number[])[0], 0)).toBe(true)
})

test("the copy is the program's no more", () => {
  const rows = [1, 2]
  const strict = strictJson({ rows }, roomy)
  rows.push(3)
  expect(strict).toEqual({ kind: "ok", value: { rows: [1, 2] } })
})

test("a property that is undefined is absent, and the same object may be used twice", () => {
  const shared = { a: 1 }
  expect(strictJson({ x: undefined, y: shared, z: [shared] }, roomy)).toEqual({
    kind: "ok",
    value: { y: { a: 1 }, z: [{ a: 1 }] },
  })
})

test.each([
  ["an array with holes or extra properties", "list", { list: new Array(3) }],
  ["an array with holes or extra properties", "", Object.assign([1], { extra: 2 })],
  ["an object with a symbol as a key", "", { [Symbol("s")]: 1 }],
  ["an object with a property named __proto__", "a", { a: JSON.parse(`{"__proto__":1}`) }],
  ["Infinity", "a[1].b", { a: [0, { b: Number.POSITIVE_INFINITY }] }],
  ["a Uint8Array", "", new Uint8Array(2)],
  ["a Promise", "p", { p: Promise.resolve(1) }],
  ["a Date", "", new Date(0)],
  ["a String", "", Object("boxed")],
])("refused with its place: %s at '%s'", (what, path, value) => {
  expect(strictJson(value, roomy)).toEqual({ kind: "not_json", path, what })
})

test("nesting is bounded and a cycle is named", () => {
  let deep: unknown = 1
  for (let level = 0; level < 128; level++) deep = [deep]
  expect(strictJson(deep, roomy).kind).toBe("ok")
  expect(strictJson([deep], roomy)).toMatchObject({ kind: "not_json", what: "nesting deeper than 128" })
  const loop: unknown[] = []
  loop.push({ loop })
  expect(strictJson(loop, roomy)).toMatchObject({ kind: "not_json", path: "[0].loop", what: "a cycle" })
})

test("the size is counted in bytes of JSON, and a value that explodes is refused early", () => {
  expect(strictJson("é", 4).kind).toBe("ok")
  expect(strictJson("é", 3)).toEqual({ kind: "too_large", maxBytes: 3 })
  let bomb: unknown = "a"
  for (let level = 0; level < 60; level++) bomb = [bomb, bomb]
  expect(strictJson(bomb, roomy)).toEqual({ kind: "too_large", maxBytes: roomy })
  expect(strictJson(new Array(100_000_000), roomy)).toEqual({ kind: "too_large", maxBytes: roomy })
})
