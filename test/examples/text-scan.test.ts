import { expect, test } from "bun:test"
import fc from "fast-check"
import { textScan } from "../../examples/repository-audit/audit/text-scan.ts"

const scanned = (chunks: readonly Uint8Array[]) => {
  const scan = textScan()
  for (const chunk of chunks) scan.add(chunk)
  return scan.end()
}
const scannedText = (text: string) => scanned([Buffer.from(text)])

test("a last line counts whether or not it ends", () => {
  expect(scannedText("").lines).toBe(0)
  expect(scannedText("\n").lines).toBe(1)
  expect(scannedText("a").lines).toBe(1)
  expect(scannedText("a\n").lines).toBe(1)
  expect(scannedText("a\nb").lines).toBe(2)
  expect(scannedText("a\r\nb\r\n").lines).toBe(2)
})

test("markers are whole words in capitals", () => {
  expect(scannedText("TODO").markers).toBe(1)
  expect(scannedText("// TODO: FIXME, (TODO) TODO.").markers).toBe(4)
  expect(scannedText("TODOS METODO TODO_ _FIXME todo FIXME2 XTODO").markers).toBe(0)
  expect(scannedText("TODOTODO TODO").markers).toBe(1)
  expect(scannedText("éTODOé").markers).toBe(1)
})

test("a NUL byte makes a file binary when it stands among the first 8,000", () => {
  const text = Buffer.from("TODO\n".repeat(2_000))
  const with0 = (at: number) => {
    const bytes = Buffer.from(text)
    bytes[at] = 0
    return scanned([bytes])
  }
  expect(with0(7_999)).toEqual({ bytes: 10_000, binary: true, lines: 0, markers: 0 })
  expect(with0(8_000)).toMatchObject({ bytes: 10_000, binary: false })
})

test("the answer does not depend on where chunks end", () => {
  const words = fc.constantFrom("TODO", "FIXME", "TOD", "FIX", "ME", "O", "\n", " ", "_", "x", "é")
  const text = fc.array(words, { maxLength: 60 }).map((parts) => Buffer.from(parts.join("")))
  fc.assert(
    fc.property(text, fc.array(fc.nat(6), { minLength: 1, maxLength: 20 }), (bytes, sizes) => {
      const chunks: Uint8Array[] = []
      for (let at = 0, turn = 0; at < bytes.length; turn += 1) {
        const end = at + (sizes[turn % sizes.length] ?? 0) + 1
        chunks.push(bytes.subarray(at, end))
        at = end
      }
      const latin = bytes.toString("latin1")
      const facts = scanned(chunks)
      expect(facts.lines).toBe(latin === "" ? 0 : latin.replace(/\n$/, "").split("\n").length)
      expect(facts.markers).toBe((latin.match(/(?<![A-Za-z0-9_])(TODO|FIXME)(?![A-Za-z0-9_])/g) ?? []).length)
    }),
    { numRuns: 500 },
  )
})
