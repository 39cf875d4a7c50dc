import { expect, test } from "bun:test"
import fc from "fast-check"
import type { Findings } from "../../examples/repository-audit/audit/findings.ts"
import { ranking } from "../../examples/repository-audit/audit/ranking.ts"
import { shownPath } from "../../examples/repository-audit/audit/tally.ts"
import { cell, code } from "../../examples/repository-audit/report/escape.ts"
import { density, grouped, share } from "../../examples/repository-audit/report/numbers.ts"
import type { FolderOutcome } from "../../examples/repository-audit/report/outcome.ts"
import { renderReport } from "../../examples/repository-audit/report/report.ts"

const findings = (folder: string, more: Partial<Findings> = {}): FolderOutcome => ({
  kind: "audited",
  findings: {
    folder,
    selectedBy: "git",
    files: 2,
    bytes: 1_234,
    binaryFiles: 1,
    lines: 1_000,
    markers: 3,
    apart: { links: 0, repositories: 0, special: 0, missing: 0, unreadable: 0 },
    languages: [{ language: "Go", files: 1, lines: 1_000 }],
    largest: [{ path: `${folder}/b.bin`, count: 1_000 }],
    longest: [{ path: `${folder}/a.go`, count: 1_000 }],
    marked: [{ path: `${folder}/a.go`, count: 3 }],
    changed: [{ path: `${folder}/a.go`, count: 7 }],
    history: { kind: "read", commits: 7, limited: false, shallow: false },
    ...more,
  },
})

test("totals are the sum of the folders, and lists are ranked across them", () => {
  const report = renderReport([findings("one"), findings("two", { lines: 500, markers: 0 })])
  expect(report).toContain("| Files | 4 |")
  expect(report).toContain("| Lines of text | 1,500 |")
  expect(report).toContain("| TODO/FIXME markers per 1,000 lines | 2.00 |")
  expect(report).toContain("| `one` | 2 | 1,000 | Go | 3.00 | `one/a.go` (7) |")
  expect(report).toContain("1. `one/a.go`: 7 commits\n2. `two/a.go`: 7 commits")
  expect(report).not.toContain("Not complete")
})

test("a failed folder is named with its code, and the others are reported", () => {
  const failed = { kind: "failed", folder: "lost", code: "process_lost", message: "gone\n`x`" } as const
  const report = renderReport([findings("one"), failed])
  expect(report).toContain("**Not complete:** 1 of 2 parts could not be audited.")
  expect(report).toContain('- `lost` failed with `process_lost`: ``"gone\\n`x`"``')
  expect(report).toContain("## `one`")
})

test("why there are no change counts is said once when it holds everywhere, else where it holds", () => {
  const bare: Partial<Findings> = { changed: [], history: { kind: "none", reason: "no_repository" } }
  const note = "No change counts: there is no git repository at the top of what was audited."
  expect(renderReport([findings("one", bare), findings("two", bare)]).split(note)).toHaveLength(2)
  const mixed = renderReport([findings("one", bare), findings("two")])
  expect(mixed.indexOf(note)).toBeGreaterThan(mixed.indexOf("## `one`"))
})

test("no name can leave its code span, its line or its cell", () => {
  expect(code("a`b")).toBe("``a`b``")
  expect(code("`a``")).toBe("``` `a`` ```")
  expect(code("a\nb\u202e")).toBe('`"a\\nb\\u{202E}"`')
  expect(code("a\\b")).toBe("`a\\b`")
  fc.assert(
    fc.property(fc.string({ unit: "binary" }), (name) => {
      const span = code(name)
      const fence = /^`+/.exec(span)?.[0] ?? ""
      const inner = span.slice(fence.length, -fence.length)
      expect(span).not.toMatch(/[\n\r]/)
      expect(span.endsWith(fence)).toBe(true)
      expect((inner.match(/`+/g) ?? []).every((run) => run.length < fence.length)).toBe(true)
      expect(cell(span)).not.toMatch(/(?<!\\)\|/)
    }),
  )
})

test("numbers read the same everywhere", () => {
  expect([0, 999, 1_000, 1_234_567].map(grouped)).toEqual(["0", "999", "1,000", "1,234,567"])
  expect(density(1, 3)).toBe("333.33")
  expect(density(1, 200_000)).toBe("0.01")
  expect(density(0, 0)).toBe("–")
  expect(share(1, 3)).toBe("33.33 %")
  expect(share(5_000, 1)).toBe("500,000.00 %")
})

test("a ranking depends on what it was given, not on the order", () => {
  const entry = fc.record({ path: fc.string(), count: fc.nat(5) })
  fc.assert(
    fc.property(fc.array(entry, { maxLength: 100 }), (entries) => {
      const top = (given: typeof entries) => {
        const list = ranking(3)
        for (const one of given) list.add(one)
        return list.top()
      }
      const all = entries.filter(({ count }) => count > 0)
      const expected = all.toSorted((a, b) => b.count - a.count || (a.path < b.path ? -1 : 1)).slice(0, 3)
      expect(top(entries)).toEqual(expected)
      expect(top(entries.toReversed())).toEqual(expected)
    }),
  )
})

test("a report of any size fits into a response", () => {
  const list = Array.from({ length: 10 }, (_, place) => ({
    path: shownPath(`${place}${"\u{10FFFF}\u202e".repeat(2_000)}`),
    count: 10 - place,
  }))
  const lists = { largest: list, longest: list, marked: list, changed: list }
  const folders = (count: number) =>
    Array.from({ length: count }, (_, n) => findings(`${n}${"|\n".repeat(120)}`, lists))
  for (const count of [1, 20, 200]) {
    const outcomes = [...folders(count), ...folders(count).map(() => lost)]
    expect(Buffer.byteLength(JSON.stringify([{ type: "text", text: renderReport(outcomes) }]))).toBeLessThan(
      262_144,
    )
  }
})

const lost: FolderOutcome = {
  kind: "failed",
  folder: "\u202e".repeat(80),
  code: "handler_failed",
  message: "\u202e".repeat(10_000),
}
