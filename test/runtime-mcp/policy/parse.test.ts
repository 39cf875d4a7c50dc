import { describe, expect, test } from "bun:test"
import { policyMaxBytes } from "@computerd/protocol/limits"
import { Scope } from "@computerd/protocol/scope"
import { parsePolicy } from "@computerd/runtime-mcp/policy/parse"
import { nothing, scopeDigest } from "@computerd/runtime-mcp/policy/scope"

const manifest = ["alpha", "beta", "gamma"]

const refusal = (input: unknown): { code: string; field: string | undefined; message: string } => {
  const parsed = parsePolicy(input, manifest)
  if (parsed.ok) throw new Error(`accepted ${JSON.stringify(input)}`)
  const { code, field, message } = parsed.error
  return { code, field, message }
}

const scope = (input: unknown) => {
  const parsed = parsePolicy(input, manifest)
  if (!parsed.ok) throw new Error(parsed.error.message)
  return parsed.value
}

describe("what a policy may not be", () => {
  const spawn = { operation: "spawn", agents: ["alpha"] }
  const cases: readonly (readonly [title: string, input: unknown, field: string])[] = [
    ["R12 null asks for nothing that exists", null, "policy"],
    ['R12 "*" is not a policy', "*", "policy"],
    ["R12 R225 {} lacks allow", {}, "allow"],
    ['R12 allow: "*" is not an array', { allow: "*" }, "allow"],
    ["R12 R229 a wildcard operation does not exist", { allow: [{ operation: "*" }] }, "allow[0].operation"],
    ["R12 undefined is a value like any other", undefined, "policy"],
    ["an array is not a policy", [], "policy"],
    ["R225 blockAll does not exist", { blockAll: true }, "blockAll"],
    ["R225 a field beside allow is refused", { allow: [], extra: 1 }, "extra"],
    ["R229 an array of operations is refused", { allow: [{ operation: ["spawn"] }] }, "allow[0].operation"],
    ["R229 derived tools are no operations", { allow: [{ operation: "wait_turn" }] }, "allow[0].operation"],
    ["R229 skills needs no rule and takes none", { allow: [{ operation: "skills" }] }, "allow[0].operation"],
    ["a rule is an object", { allow: [spawn, "spawn"] }, "allow[1]"],
    [
      "R230 a key outside the manifest is refused",
      { allow: [{ ...spawn, agents: ["alpha", "delta"] }] },
      "allow[0].agents[1]",
    ],
    ["R230 a wildcard Agent is refused", { allow: [{ ...spawn, agents: ["*"] }] }, "allow[0].agents[0]"],
    ["R230 a prefix of a key is refused", { allow: [{ ...spawn, agents: ["alph"] }] }, "allow[0].agents[0]"],
    ["an Agent key is a string", { allow: [{ ...spawn, agents: [1] }] }, "allow[0].agents[0]"],
    ["agents is an array", { allow: [{ ...spawn, agents: "alpha" }] }, "allow[0].agents"],
    ["agents is not empty", { allow: [{ ...spawn, agents: [] }] }, "allow[0].agents"],
    ["agents is required", { allow: [{ operation: "enqueue" }] }, "allow[0].agents"],
    ["R231 another placement is refused", { allow: [{ ...spawn, computer: "any" }] }, "allow[0].computer"],
    ["R231 placement null is not omission", { allow: [{ ...spawn, computer: null }] }, "allow[0].computer"],
    [
      "R232 enqueue has no placement",
      { allow: [{ operation: "enqueue", agents: ["alpha"], computer: "new" }] },
      "allow[0].computer",
    ],
    [
      "R232 list_computers has no targets",
      { allow: [{ operation: "list_computers", agents: ["alpha"] }] },
      "allow[0].agents",
    ],
    [
      "R232 list_computers has no placement",
      { allow: [{ operation: "list_computers", computer: "new" }] },
      "allow[0].computer",
    ],
    ["a field unknown to a rule is refused", { allow: [{ ...spawn, depth: 1 }] }, "allow[0].depth"],
  ]
  for (const [title, input, field] of cases) {
    test(`R168 ${title}, at ${field}`, () => {
      const refused = refusal(input)
      expect(refused.code).toBe("invalid_runtime_mcp_policy")
      expect(refused.field).toBe(field)
      expect(refused.message.startsWith(field)).toBe(true)
    })
  }

  test("R229 a tool that no rule names says which operation brings it", () => {
    const said = (operation: string) => refusal({ allow: [{ operation }] }).message
    expect(said("wait_turn")).toContain("must not be wait_turn, which comes with inspect_turn")
    expect(said("list_sessions")).toContain("comes with inspect_session")
    expect(said("list_agents")).toContain("comes with spawn and start")
    expect(said("skills")).toContain("is always there")
    expect(said("constructor")).toContain("must be one of spawn, start, enqueue")
  })

  test("R254 the value that was refused is not repeated", () => {
    expect(refusal({ allow: [{ operation: "spawn", agents: ["s3cret-key"] }] }).message).not.toContain(
      "s3cret",
    )
  })

  test("a policy above its size is refused whole, one at the limit is judged by its rules", () => {
    const policy = (bytes: number) => {
      const text = JSON.stringify({ allow: [{ operation: "x" }] })
      return { allow: [{ operation: "x".repeat(bytes - text.length + 1) }] }
    }
    expect(refusal(policy(policyMaxBytes)).field).toBe("allow[0].operation")
    expect(refusal(policy(policyMaxBytes + 1)).field).toBe("policy")
  })

  test("a value that JSON cannot hold is refused and throws nothing", () => {
    const loop: { allow: unknown[]; self?: unknown } = { allow: [] }
    loop.self = loop
    expect(refusal(loop).field).toBe("policy")
    expect(refusal({ allow: 1n }).field).toBe("policy")
  })
})

describe("what a policy means", () => {
  test("R11 R228 an empty allowlist is legal and grants nothing", () => {
    expect(scope({ allow: [] })).toEqual(nothing)
  })

  test("R231 an omitted placement is new", () => {
    const written = scope({ allow: [{ operation: "start", agents: ["beta"], computer: "new" }] })
    expect(scope({ allow: [{ operation: "start", agents: ["beta"] }] })).toEqual(written)
    expect(scope({ allow: [{ operation: "start", agents: ["beta"], computer: undefined }] })).toEqual(written)
  })

  test("R13 R233 order, repetition and the split into rules change nothing", () => {
    const one = scope({
      allow: [
        { operation: "inspect_turn", agents: ["beta", "alpha", "beta"] },
        { operation: "spawn", agents: ["alpha"], computer: "caller" },
        { operation: "spawn", agents: ["alpha", "gamma"] },
      ],
    })
    const other = scope({
      allow: [
        { operation: "spawn", agents: ["gamma"] },
        { operation: "spawn", agents: ["alpha"], computer: "new" },
        { operation: "spawn", agents: ["alpha"], computer: "caller" },
        { operation: "inspect_turn", agents: ["alpha"] },
        { operation: "inspect_turn", agents: ["beta"] },
        { operation: "inspect_turn", agents: ["alpha"] },
      ],
    })
    expect(other).toEqual(one)
    expect(scopeDigest(other)).toBe(scopeDigest(one))
    expect(one).toEqual({
      kind: "finite",
      allow: [
        { operation: "spawn", agents: ["alpha", "gamma"], computer: "new" },
        { operation: "spawn", agents: ["alpha"], computer: "caller" },
        { operation: "inspect_turn", agents: ["alpha", "beta"] },
      ],
    })
  })

  test("the normal form is what the wire accepts", () => {
    const value = scope({
      allow: [{ operation: "list_computers" }, { operation: "close_session", agents: ["gamma"] }],
    })
    expect<unknown>(Scope.parse(value)).toEqual(value)
  })
})
