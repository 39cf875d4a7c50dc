/**
 * From what an author or a program wrote to a normal scope. Every refusal is `invalid_runtime_mcp_policy` and names
 * the field by its path; no value of the caller's is repeated.
 *
 * P4 `allow` is required and is the only field; there is no word for everything
 * P5 a key that the pinned manifest lacks is refused here, before any comparison with the maximum
 */
import { utf8Bytes } from "@computerd/protocol/content"
import { fail, ok, type Result } from "@computerd/protocol/errors"
import { policyMaxBytes } from "@computerd/protocol/limits"
import { type NormalRule, Placement, RuleOperation, type Scope } from "@computerd/protocol/scope"
import { isCreation, isTargeted } from "./atoms.ts"
import { normalize } from "./scope.ts"

/** What a policy or a rule may hold; anything else in it is found by name. */
type Fields = { readonly [Field in "allow" | "operation" | "agents" | "computer"]?: unknown }

/** Enough of an unknown field's name to find it. */
const fieldNameMaxLength = 64

const refuse = (field: string, problem: string): ReturnType<typeof fail> =>
  fail("invalid_runtime_mcp_policy", `${field} ${problem}`, field)

const isFields = (value: unknown): value is Fields =>
  typeof value === "object" && value !== null && !Array.isArray(value)

const unknownField = (value: Fields, known: readonly string[], at: string): Result<true> => {
  const stranger = Object.keys(value).find((key) => !known.includes(key))
  if (stranger === undefined) return ok(true)
  const name = stranger.slice(0, fieldNameMaxLength)
  return refuse(at === "" ? name : `${at}.${name}`, `is not a field here; known are ${known.join(", ")}`)
}

const parseAgents = (
  value: unknown,
  at: string,
  manifest: ReadonlySet<string>,
): Result<readonly string[]> => {
  if (!Array.isArray(value)) return refuse(at, "must be an array of Agent keys")
  if (value.length === 0)
    return refuse(at, "must name at least one Agent; leave the rule out to grant nothing")
  const agents: string[] = []
  for (const [index, agent] of value.entries()) {
    if (typeof agent !== "string") return refuse(`${at}[${index}]`, "must be a string: one exact Agent key")
    if (!manifest.has(agent))
      return refuse(`${at}[${index}]`, "is not the exact key of an Agent of this Deployment")
    agents.push(agent)
  }
  return ok(agents)
}

const parsePlacement = (value: unknown, at: string): Result<Placement> => {
  if (value === undefined) return ok("new")
  const placement = Placement.safeParse(value)
  return placement.success ? ok(placement.data) : refuse(at, 'must be "new" or "caller"; absent means "new"')
}

const knownFields = (operation: RuleOperation): readonly string[] => {
  if (isCreation(operation)) return ["operation", "agents", "computer"]
  return isTargeted(operation) ? ["operation", "agents"] : ["operation"]
}

/** Tools that no rule names, and what brings them. */
const derived: ReadonlyMap<unknown, string> = new Map([
  ["wait_turn", "comes with inspect_turn and has no rule of its own"],
  ["list_sessions", "comes with inspect_session and has no rule of its own"],
  ["list_agents", "comes with spawn and start and has no rule of its own"],
  ["skills", "is always there and has no rule of its own"],
])

const operationProblem = (value: unknown): string => {
  const brought = derived.get(value)
  return brought === undefined
    ? `must be one of ${RuleOperation.options.join(", ")}`
    : `must not be ${String(value)}, which ${brought}`
}

const parseRule = (value: unknown, at: string, manifest: ReadonlySet<string>): Result<NormalRule> => {
  if (!isFields(value)) return refuse(at, "must be an object with operation")
  const operation = RuleOperation.safeParse(value.operation)
  if (!operation.success) return refuse(`${at}.operation`, operationProblem(value.operation))
  const known = unknownField(value, knownFields(operation.data), at)
  if (!known.ok) return known
  if (operation.data === "list_computers") return ok({ operation: operation.data })
  const agents = parseAgents(value.agents, `${at}.agents`, manifest)
  if (!agents.ok) return agents
  if (!isCreation(operation.data)) return ok({ operation: operation.data, agents: agents.value })
  const computer = parsePlacement(value.computer, `${at}.computer`)
  if (!computer.ok) return computer
  return ok({ operation: operation.data, agents: agents.value, computer: computer.value })
}

const encodedBytes = (value: unknown): number | undefined => {
  try {
    return utf8Bytes(JSON.stringify(value) ?? "")
  } catch {
    return undefined
  }
}

const checkSize = (input: unknown): Result<true> => {
  const bytes = encodedBytes(input)
  if (bytes === undefined) return refuse("policy", "must be a value that JSON can hold")
  return bytes > policyMaxBytes
    ? refuse("policy", `must be at most ${policyMaxBytes} bytes of JSON`)
    : ok(true)
}

export const parsePolicy = (input: unknown, manifestAgents: readonly string[]): Result<Scope> => {
  if (!isFields(input)) return refuse("policy", "must be an object with allow, an array of rules")
  const size = checkSize(input)
  if (!size.ok) return size
  const known = unknownField(input, ["allow"], "")
  if (!known.ok) return known
  const allow = input.allow
  if (!Array.isArray(allow)) return refuse("allow", "must be an array of rules; [] grants nothing")
  const manifest = new Set(manifestAgents)
  const rules: NormalRule[] = []
  for (const [index, value] of allow.entries()) {
    const rule = parseRule(value, `allow[${index}]`, manifest)
    if (!rule.ok) return rule
    rules.push(rule.value)
  }
  return ok(normalize(rules))
}
