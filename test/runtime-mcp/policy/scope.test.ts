import { describe, expect, test } from "bun:test"
import { type NormalRule, type RuleOperation, Scope } from "@computerd/protocol/scope"
import { parsePolicy } from "@computerd/runtime-mcp/policy/parse"
import { narrow, requestedScope, resolveMaximum } from "@computerd/runtime-mcp/policy/resolve"
import {
  defaultMaximum,
  grantedAgents,
  grants,
  grantsOperation,
  includes,
  normalize,
  nothing,
  scopeDigest,
  union,
  unrestricted,
} from "@computerd/runtime-mcp/policy/scope"
import fc from "fast-check"
import { agentKeys, anyRules, everyAtom, key, modelAtoms, ruleOf, subsets, universe } from "./universe.ts"

const allowOf = (scope: Scope): readonly NormalRule[] => (scope.kind === "finite" ? scope.allow : [])

describe("normal form", () => {
  test("R13 normalization is idempotent and what it yields is legal on the wire", () => {
    fc.assert(
      fc.property(anyRules, (rules) => {
        const once = normalize(rules)
        expect(normalize(allowOf(once))).toEqual(once)
        expect(Scope.safeParse(once).success).toBe(true)
      }),
    )
  })

  test("R13 normalization is blind to order, repetition and the split of rules", () => {
    fc.assert(
      fc.property(anyRules, fc.array(fc.nat()), fc.nat(), (rules, order, extra) => {
        const split = rules.flatMap((rule): NormalRule[] =>
          "agents" in rule ? rule.agents.map((agent) => ({ ...rule, agents: [agent] })) : [rule],
        )
        const repeated = rules.length === 0 ? split : [...split, rules[extra % rules.length]!]
        const shuffled = repeated
          .map((rule, index) => ({ rule, at: order[index] ?? index }))
          .sort((left, right) => left.at - right.at)
          .map(({ rule }) => rule)
        expect(normalize(shuffled)).toEqual(normalize(rules))
        expect(scopeDigest(normalize(shuffled))).toBe(scopeDigest(normalize(rules)))
      }),
    )
  })

  test("R15 two sets of atoms have one digest exactly when they are one set", () => {
    fc.assert(
      fc.property(anyRules, anyRules, (left, right) => {
        const same = modelAtoms(left).symmetricDifference(modelAtoms(right)).size === 0
        expect(scopeDigest(normalize(left)) === scopeDigest(normalize(right))).toBe(same)
      }),
    )
  })

  test("the digest of a scope is that of its normal form, also when the wire brought another form", () => {
    const loose: Scope = { kind: "finite", allow: [{ operation: "enqueue", agents: ["b", "a", "b"] }] }
    expect(scopeDigest(loose)).toBe(scopeDigest(normalize([{ operation: "enqueue", agents: ["a", "b"] }])))
    expect(scopeDigest(unrestricted)).not.toBe(scopeDigest(nothing))
  })

  test("a parsed policy is the normal form of its rules", () => {
    fc.assert(
      fc.property(anyRules, (rules) => {
        const parsed = parsePolicy({ allow: rules }, agentKeys)
        expect(parsed).toEqual({ ok: true, value: normalize(rules) })
      }),
    )
  })
})

describe("inclusion and union", () => {
  const small: readonly (readonly [
    name: string,
    agents: readonly string[],
    operations: readonly RuleOperation[],
  ])[] = [
    ["one creation family over one Agent and the Computer list", ["a"], ["spawn", "list_computers"]],
    ["both creation families over one Agent", ["a"], ["spawn", "start"]],
    ["two targeted operations over two Agents", ["a", "b"], ["enqueue", "inspect_turn"]],
    ["every kind of rule over one Agent", ["a"], ["start", "close_session", "list_computers"]],
  ]
  for (const [name, agents, operations] of small) {
    test(`R10 R233 inclusion and union agree with brute force: ${name}`, () => {
      const sets = subsets(universe(agents, operations)).map((atoms) => ({
        keys: new Set(atoms.map(key)),
        scope: normalize(atoms.map(ruleOf)),
      }))
      for (const left of sets) {
        for (const right of sets) {
          expect(includes(left.scope, right.scope)).toBe(right.keys.isSubsetOf(left.keys))
          const both = union(left.scope, right.scope)
          expect(modelAtoms(allowOf(both))).toEqual(left.keys.union(right.keys))
        }
      }
    })
  }

  test("R10 inclusion is a partial order", () => {
    fc.assert(
      fc.property(anyRules, anyRules, anyRules, (one, two, three) => {
        const [a, b, c] = [normalize(one), normalize(two), normalize(three)]
        expect(includes(a, a)).toBe(true)
        if (includes(a, b) && includes(b, a)) expect(a).toEqual(b)
        const [bottom, middle, top] = [a, union(a, b), union(union(a, b), c)]
        expect(includes(middle, bottom) && includes(top, middle) && includes(top, bottom)).toBe(true)
        if (includes(a, b) && includes(b, c)) expect(includes(a, c)).toBe(true)
      }),
    )
  })

  test("R233 the union of rules is the union of their atoms", () => {
    fc.assert(
      fc.property(anyRules, anyRules, (one, two) => {
        const both = union(normalize(one), normalize(two))
        expect(both).toEqual(normalize([...one, ...two]))
        expect(modelAtoms(allowOf(both))).toEqual(modelAtoms(one).union(modelAtoms(two)))
        expect(union(normalize(two), normalize(one))).toEqual(both)
      }),
    )
  })

  test("an unrestricted scope includes all, and no finite one includes it", () => {
    const widest = normalize(everyAtom.map(ruleOf))
    expect(includes(unrestricted, widest)).toBe(true)
    expect(includes(unrestricted, unrestricted)).toBe(true)
    expect(includes(widest, unrestricted)).toBe(false)
    expect(union(widest, unrestricted)).toEqual(unrestricted)
  })
})

describe("grants", () => {
  test("R74 R75 R68 an atom is granted exactly when a rule holds it: none implies another", () => {
    fc.assert(
      fc.property(anyRules, (rules) => {
        const scope = normalize(rules)
        const held = modelAtoms(rules)
        for (const atom of everyAtom) expect(grants(scope, atom)).toBe(held.has(key(atom)))
      }),
    )
  })

  test("R78 R231 a creation without a placement asks for a new Computer", () => {
    const onCaller = normalize([{ operation: "spawn", agents: ["a"], computer: "caller" }])
    expect(grants(onCaller, { operation: "spawn", agent: "a" })).toBe(false)
    expect(grants(onCaller, { operation: "spawn", agent: "a", placement: "caller" })).toBe(true)
  })

  test("a targeted operation without a target is granted to nobody", () => {
    const scope = normalize([{ operation: "enqueue", agents: ["a"] }])
    expect(grants(scope, { operation: "enqueue" })).toBe(false)
    expect(grantsOperation(scope, "enqueue")).toBe(true)
    expect(grantsOperation(scope, "inspect_turn")).toBe(false)
  })

  test("R69 the Agents of a creation family are those of both placements, sorted", () => {
    const scope = normalize([
      { operation: "spawn", agents: ["c"], computer: "caller" },
      { operation: "spawn", agents: ["b", "a"], computer: "new" },
    ])
    expect(grantedAgents(scope, "spawn")).toEqual(["a", "b", "c"])
    expect(grantedAgents(scope, "start")).toEqual([])
    expect(grantedAgents(unrestricted, "start")).toBe("all")
  })
})

describe("maxima", () => {
  test("R9 R227 an omitted maximum is written out: every operation on every Agent, new Computers only", () => {
    const resolved = resolveMaximum({ given: false }, ["b", "a"])
    expect(resolved).toEqual({ ok: true, value: defaultMaximum(["a", "b"]) })
    const maximum = defaultMaximum(["a", "b"])
    for (const atom of universe(
      ["a", "b"],
      everyAtom.map((each) => each.operation),
    ))
      expect(grants(maximum, atom)).toBe(atom.placement !== "caller")
    expect(allowOf(maximum).every((rule) => !("agents" in rule) || rule.agents.length === 2)).toBe(true)
  })

  test("R226 an Agent that comes later is not in a maximum written before it", () => {
    expect(includes(defaultMaximum(["a"]), defaultMaximum(["a", "b"]))).toBe(false)
  })

  test("R225 a given maximum is judged like any policy, an explicit undefined too", () => {
    expect(resolveMaximum({ given: true, value: { allow: [] } }, ["a"])).toEqual({ ok: true, value: nothing })
    const refused = resolveMaximum({ given: true, value: undefined }, ["a"])
    expect(refused.ok ? "accepted" : refused.error.code).toBe("invalid_runtime_mcp_policy")
  })

  test("R10 R235 no derived scope exceeds its maximum, and a refusal names what is beyond it", () => {
    fc.assert(
      fc.property(anyRules, anyRules, (most, some) => {
        const maximum = normalize(most)
        const derived = requestedScope({ given: true, value: { allow: some } }, maximum, agentKeys)
        const fits = modelAtoms(some).isSubsetOf(modelAtoms(most))
        expect(derived.ok).toBe(fits)
        if (derived.ok) expect(includes(maximum, derived.value)).toBe(true)
        else expect(derived.error.code).toBe("runtime_mcp_denied")
      }),
    )
  })

  test("R9 R80 without a policy the maximum is what is asked for", () => {
    const maximum = normalize([{ operation: "enqueue", agents: ["a"] }])
    expect(requestedScope({ given: false }, maximum, ["a"])).toEqual({ ok: true, value: maximum })
  })

  test("R168 R169 a key outside the manifest is malformed, a key inside but beyond the maximum is denied", () => {
    const maximum = normalize([{ operation: "enqueue", agents: ["a"] }])
    const code = (agent: string) => {
      const answer = requestedScope(
        { given: true, value: { allow: [{ operation: "enqueue", agents: [agent] }] } },
        maximum,
        ["a", "b"],
      )
      return answer.ok ? "granted" : answer.error.code
    }
    expect(["a", "b", "c"].map(code)).toEqual(["granted", "runtime_mcp_denied", "invalid_runtime_mcp_policy"])
    expect(narrow(maximum, unrestricted).ok).toBe(false)
  })
})
