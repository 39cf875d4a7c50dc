/** The grammar of network policies: what is read, what is refused and where, and the normal form. */
import { describe, expect, test } from "bun:test"
import { rangesMax } from "@computerd/control-plane/publication/network/entry"
import { entriesMax, parseNetwork } from "@computerd/control-plane/publication/network/policy"
import { parseCeiling } from "@computerd/control-plane/publication/network/reach"
import { NetworkPolicy } from "@computerd/protocol/policies"
import fc from "fast-check"

const at = "templates[web].network"
const inside = (...texts: readonly string[]) => {
  const ceiling = parseCeiling(texts)
  if (!ceiling.ok) throw new Error(ceiling.error.message)
  return ceiling.value
}
const refusal = (value: unknown, ...approved: readonly string[]) => {
  const policy = parseNetwork(value, inside(...approved), at)
  return policy.ok ? undefined : policy.error
}
const normal = (value: unknown, ...approved: readonly string[]): NetworkPolicy => {
  const policy = parseNetwork(value, inside(...approved), at)
  if (!policy.ok) throw new Error(policy.error.message)
  return policy.value
}
const listed = (value: unknown) => {
  const policy = normal(value)
  return "allowDomains" in policy ? policy.allowDomains : []
}
const names = (...allowDomains: readonly string[]) => listed({ allowDomains })
const bounded = (...ipRanges: readonly unknown[]) => ({
  allowDomains: [{ domain: "db.example.com", ipRanges }],
})

describe("the forms of a policy", () => {
  test("R212 blockAll and an empty allowlist are one policy, and blockAll: false is ordinary connectivity", () => {
    expect(normal({ blockAll: true })).toEqual(normal({ allowDomains: [] }))
    expect(normal({ blockAll: true })).toEqual({ blockAll: true })
    expect(normal({ blockAll: false })).toEqual({ blockAll: false })
  })

  test("R213 either boolean together with allowDomains is refused at its own path", () => {
    for (const blockAll of [true, false])
      for (const allowDomains of [[], ["api.example.com"], "nonsense"])
        expect(refusal({ blockAll, allowDomains })).toMatchObject({
          code: "invalid_program",
          field: `${at}.blockAll`,
        })
  })

  const incomplete: readonly (readonly [string, unknown, string])[] = [
    ["an object that says nothing", {}, at],
    ["null", null, at],
    ["a word", "open", at],
    ["an array", [], at],
    ["a boolean in words", { blockAll: "true" }, `${at}.blockAll`],
    ["blockAll of null", { blockAll: null }, `${at}.blockAll`],
    ["an allowlist that is no array", { allowDomains: "api.example.com" }, `${at}.allowDomains`],
    ["an allowlist of null", { allowDomains: null }, `${at}.allowDomains`],
    ["a field that is not known", { allowDomains: [], denyDomains: [] }, `${at}.denyDomains`],
    ["an entry that is a number", { allowDomains: ["a.example.com", 7] }, `${at}.allowDomains[1]`],
    ["an entry that is null", { allowDomains: [null] }, `${at}.allowDomains[0]`],
    ["an entry that is an array", { allowDomains: [["a.example.com"]] }, `${at}.allowDomains[0]`],
    ["an object without a domain", { allowDomains: [{ ipRanges: [] }] }, `${at}.allowDomains[0].domain`],
    [
      "an object without ranges",
      { allowDomains: [{ domain: "a.example.com" }] },
      `${at}.allowDomains[0].ipRanges`,
    ],
    ["an object with no range", bounded(), `${at}.allowDomains[0].ipRanges`],
    [
      "a port",
      { allowDomains: [{ ...bounded("8.8.8.0/24").allowDomains[0], port: 443 }] },
      `${at}.allowDomains[0].port`,
    ],
  ]
  for (const [what, value, field] of incomplete)
    test(`${what} is refused at ${field}, never read as open`, () => {
      expect(refusal(value)).toMatchObject({ code: "invalid_program", field })
    })
})

describe("names", () => {
  test("are lower-case, in ASCII, without the root's dot", () => {
    expect(names("API.Example.COM")).toEqual(["api.example.com"])
    expect(names("api.example.com.")).toEqual(["api.example.com"])
    expect(names("*.Services.Example.com.")).toEqual(["*.services.example.com"])
    expect(names("bücher.example.com")).toEqual(["xn--bcher-kva.example.com"])
    expect(names("XN--Bcher-KVA.example.com")).toEqual(["xn--bcher-kva.example.com"])
    expect(names("*.bücher.example.com")).toEqual(["*.xn--bcher-kva.example.com"])
    expect(names("a--b.example.com", "1.example.com", "x.y.z.example")).toHaveLength(3)
  })

  const refused: readonly (readonly [string, string])[] = [
    ["nothing", ""],
    ["a dot", "."],
    ["an empty label", "api..example.com"],
    ["a leading dot", ".example.com"],
    ["two root dots", "api.example.com.."],
    ["one label", "registry"],
    ["a bare top-level domain", "com"],
    ["localhost", "localhost"],
    ["a name below localhost", "app.localhost"],
    ["an address", "10.60.12.1"],
    ["a public address", "8.8.8.8"],
    ["an address in short form", "127.1"],
    ["an address in hexadecimal", "127.0x1"],
    ["an address in other digits", "１２７.０.０.１"],
    ["an IPv6 address", "2001:db8::1"],
    ["a bracketed IPv6 address", "[2001:db8::1]"],
    ["a range", "10.0.0.0/8"],
    ["a URL", "https://api.example.com"],
    ["a path", "api.example.com/v1"],
    ["a port", "api.example.com:443"],
    ["user information", "user@api.example.com"],
    ["a space", "api example.com"],
    ["a space at the end", "api.example.com "],
    ["an underscore", "my_host.example.com"],
    ["a leading hyphen", "-api.example.com"],
    ["a trailing hyphen", "api-.example.com"],
    ["a percent escape", "api%2eexample.com"],
    ["a NUL", "api.example.com\0"],
    ["a label of 64", `${"a".repeat(64)}.example.com`],
    ["a name of 254", `${"a.".repeat(125)}abcd`],
    ["megabytes", "a".repeat(5_000_000)],
    ["broken punycode", "xn--a.example.com"],
    ["punycode for nothing", "xn--.example.com"],
    ["an invisible joiner", "a\u200db.example.com"],
    ["a soft hyphen", "a\u00adb.example.com"],
    ["the star alone", "*"],
    ["the star and a dot", "*."],
    ["a star inside a label", "a*.example.com"],
    ["a star in the middle", "a.*.example.com"],
    ["two stars", "*.*.example.com"],
    ["everything below a top-level domain", "*.com"],
    ["everything below a registry's suffix", "*.co.uk"],
    ["everything below an internationalized suffix", "*.公司.cn"],
    ["everything below an unlisted top-level domain", "*.corp"],
    ["everything below an address", "*.10.0.0.1"],
  ]
  for (const [what, name] of refused)
    test(`${what} is no name`, () => {
      expect(refusal({ allowDomains: ["ok.example.com", name] })?.field).toBe(`${at}.allowDomains[1]`)
      const other = refusal({ allowDomains: [{ domain: name, ipRanges: ["8.8.8.0/24"] }] })
      expect(other?.field).toBe(`${at}.allowDomains[0].domain`)
    })

  test("the longest label and the longest name are read", () => {
    const longest = `${"a.".repeat(125)}abc`
    expect(longest).toHaveLength(253)
    expect(names(`${"a".repeat(63)}.example.com`, longest)).toHaveLength(2)
  })

  test("a wildcard below a name that a company gives out is the author's to choose", () => {
    expect(names("*.github.io", "*.s3.amazonaws.com")).toEqual(["*.github.io", "*.s3.amazonaws.com"])
  })
})

describe("ranges", () => {
  test("R209 a private range is refused unless it lies within what the installation approved", () => {
    const field = `${at}.allowDomains[0].ipRanges[1]`
    for (const range of ["10.60.12.0/24", "172.16.0.0/12", "192.168.1.1/32"])
      expect(refusal(bounded("8.8.8.0/24", range))?.field).toBe(field)
    expect(refusal(bounded("10.60.0.0/16"), "10.60.0.0/16")).toBeUndefined()
    expect(refusal(bounded("10.60.12.0/24", "10.60.255.255/32"), "10.60.0.0/16")).toBeUndefined()
    for (const range of ["10.61.0.0/16", "10.60.0.0/15", "10.0.0.0/8", "192.168.0.0/24"])
      expect(refusal(bounded("8.8.8.0/24", range), "10.60.0.0/16")?.field).toBe(field)
  })

  test("a range that mixes public and private addresses is refused whatever was approved", () => {
    for (const range of ["8.0.0.0/5", "172.0.0.0/8", "192.168.0.0/15"])
      expect(refusal(bounded(range), "10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16")?.field).toBe(
        `${at}.allowDomains[0].ipRanges[0]`,
      )
  })

  test("a range with an address that is never reachable is refused", () => {
    const ranges = [
      "0.0.0.0/0",
      "127.0.0.0/8",
      "169.254.169.254/32",
      "100.64.0.0/10",
      "224.0.0.0/4",
      "255.255.255.255/32",
    ]
    for (const range of ranges) expect(refusal(bounded(range))?.message).toContain("special-purpose")
  })

  const malformed: readonly unknown[] = [
    "8.8.8.8",
    "8.8.8.8/24",
    "8.8.8.0/33",
    "8.8.8.0/-1",
    "8.8.8.0/",
    "8.8.8.0/024",
    "8.8.8/24",
    "010.8.8.0/24",
    "0x8.8.8.0/24",
    "8.8.8.256/32",
    "8.8.8.0/255.255.255.0",
    "2001:4860::/32",
    "::ffff:8.8.8.0/120",
    " 8.8.8.0/24",
    "8.8.8.0/24\n",
    "example.com/24",
    "",
    8,
    null,
    {},
  ]
  for (const range of malformed)
    test(`${JSON.stringify(range)} is no range`, () => {
      expect(refusal(bounded("8.8.4.0/24", range))?.field).toBe(`${at}.allowDomains[0].ipRanges[1]`)
    })

  test("become the smallest list that covers the same addresses", () => {
    const cover = (...ipRanges: readonly string[]) => {
      const [entry] = listed(bounded(...ipRanges))
      return typeof entry === "object" ? entry.ipRanges : undefined
    }
    expect(cover("8.8.8.0/24", "8.8.8.0/24")).toEqual(["8.8.8.0/24"])
    expect(cover("8.8.8.128/25", "8.8.8.0/25")).toEqual(["8.8.8.0/24"])
    expect(cover("8.8.8.7/32", "8.8.8.0/24")).toEqual(["8.8.8.0/24"])
    expect(cover("8.8.9.0/24", "8.8.10.0/24")).toEqual(["8.8.9.0/24", "8.8.10.0/24"])
    expect(cover("8.8.8.2/31", "8.8.8.1/32", "8.8.8.0/32")).toEqual(["8.8.8.0/30"])
  })

  test("what the operator approves must itself be private", () => {
    for (const text of ["8.8.8.0/24", "10.0.0.0/7", "10.60.0.1/16", "everything", ""])
      expect(parseCeiling(["10.0.0.0/8", text])).toMatchObject({
        error: { code: "invalid_configuration", field: "privateRanges[1]" },
      })
  })
})

describe("the normal form", () => {
  test("keeps entries that overlap, and lends none the bounds of another", () => {
    const a = { domain: "a.example.com", ipRanges: ["8.8.8.0/24"] }
    const b = { domain: "a.example.com", ipRanges: ["8.8.4.0/24"] }
    expect(normal({ allowDomains: [a, "a.example.com", "*.example.com", b] })).toEqual({
      allowDomains: ["*.example.com", "a.example.com", b, a],
    })
  })

  const label = fc.constantFrom("a", "b", "API", "x-1", "bücher", "xn--bcher-kva")
  const name = fc
    .tuple(fc.boolean(), fc.array(label, { minLength: 1, maxLength: 3 }), fc.boolean())
    .map(([wild, labels, dot]) => `${wild ? "*." : ""}${labels.join(".")}.example.com${dot ? "." : ""}`)
  const range = fc
    .tuple(fc.integer({ min: 0, max: 63 }), fc.integer({ min: 26, max: 32 }))
    .map(([low, prefix]) => `8.8.8.${low - (low % 2 ** (32 - prefix))}/${prefix}`)
  const entry = fc.oneof(
    name,
    fc.record({ domain: name, ipRanges: fc.array(range, { minLength: 1, maxLength: 6 }) }),
  )
  const entries = fc.array(entry, { minLength: 1, maxLength: 8 })

  test("is a policy of the same grammar that reads as itself", () => {
    fc.assert(
      fc.property(entries, (allowDomains) => {
        const once = normal({ allowDomains })
        expect(normal(once)).toEqual(once)
        expect(NetworkPolicy.parse(JSON.parse(JSON.stringify(once)))).toEqual(once)
      }),
    )
  })

  test("does not depend on order or duplication", () => {
    fc.assert(
      fc.property(entries, fc.infiniteStream(fc.nat()), (allowDomains, random) => {
        const keyed = [...allowDomains, ...allowDomains].map((one) => {
          const ranges = typeof one === "string" ? [] : [...one.ipRanges, ...one.ipRanges].reverse()
          return {
            one: typeof one === "string" ? one : { ...one, ipRanges: ranges },
            at: random.next().value,
          }
        })
        const shuffled = keyed.toSorted((a, b) => a.at - b.at).map(({ one }) => one)
        expect(JSON.stringify(normal({ allowDomains: shuffled }))).toBe(
          JSON.stringify(normal({ allowDomains })),
        )
      }),
    )
  })

  /** Addresses of 8.8.8.0/26 that a list of ranges covers, counted one by one. */
  const covered = (ranges: readonly string[]): readonly number[] =>
    Array.from({ length: 64 }, (_, address) => address).filter((address) =>
      ranges.some((text) => {
        const [first = 0, prefix = 0] = text.slice("8.8.8.".length).split("/").map(Number)
        return address >= first && address < first + 2 ** (32 - prefix)
      }),
    )

  test("covers the very addresses that were written, with no two ranges that overlap", () => {
    fc.assert(
      fc.property(fc.array(range, { minLength: 1, maxLength: 12 }), (ipRanges) => {
        const [one] = listed(bounded(...ipRanges))
        if (typeof one !== "object") throw new Error("the entry lost its ranges")
        expect(covered(one.ipRanges)).toEqual(covered(ipRanges))
        const sizes = one.ipRanges.map((text) => 2 ** (32 - Number(text.split("/")[1])))
        expect(sizes.reduce((sum, size) => sum + size, 0)).toBe(covered(ipRanges).length)
      }),
    )
  })

  test("whatever is given, a policy or a refusal inside the field comes out, and no text of it is repeated", () => {
    const marked = fc.string({ minLength: 1, maxLength: 20 }).map((text) => `s3cr3t-${text}`)
    const anything = fc.anything({ values: [marked, fc.boolean(), fc.integer()], maxDepth: 4 })
    const some = fc.oneof(
      anything,
      fc.record({ allowDomains: fc.array(fc.oneof(marked, anything)) }),
      fc.record({ allowDomains: fc.array(fc.record({ domain: name, ipRanges: fc.array(marked) })) }),
      fc.dictionary(marked, anything),
    )
    fc.assert(
      fc.property(some, (value) => {
        const error = refusal(value)
        if (error === undefined) return
        expect(error.field).toStartWith(at)
        expect(error.message).not.toContain("s3cr3t")
        expect(error.message).toMatch(/^[\x20-\x7e]+$/)
      }),
    )
  })
})

describe("bounds", () => {
  const many = (count: number) => Array.from({ length: count }, (_, index) => `h${index}.example.com`)
  const manyRanges = (count: number) => Array.from({ length: count }, (_, index) => `8.8.${index}.0/32`)

  test("an allowlist holds so many entries and an entry so many ranges", () => {
    expect(refusal({ allowDomains: many(entriesMax) })).toBeUndefined()
    expect(refusal({ allowDomains: many(entriesMax + 1) })?.field).toBe(`${at}.allowDomains`)
    expect(refusal(bounded(...manyRanges(rangesMax)))).toBeUndefined()
    expect(refusal(bounded(...manyRanges(rangesMax + 1)))?.field).toBe(`${at}.allowDomains[0].ipRanges`)
  })

  test("a policy within both counts is still bounded as a whole", () => {
    const domain = (index: number) => `${`${"a".repeat(60)}.`.repeat(3)}h${index}.example.com`
    const allowDomains = Array.from({ length: entriesMax }, (_, index) => ({
      domain: domain(index),
      ipRanges: manyRanges(16),
    }))
    expect(refusal({ allowDomains })?.field).toBe(`${at}.allowDomains`)
  })
})
