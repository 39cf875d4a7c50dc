/** The Agents of a program: what their author wrote, judged and resolved. */
import { failure, ok, type Result } from "@computerd/protocol/errors"
import { DefinitionKey } from "@computerd/protocol/ids"
import { judge } from "@computerd/protocol/judge"
import { AgentManifest } from "@computerd/protocol/manifest"
import type { DescribedAgent } from "@computerd/protocol/program"
import type { Scope } from "@computerd/protocol/scope"
import { resolveMaximum } from "@computerd/runtime-mcp/policy/resolve"
import { parseDuration } from "./duration.ts"
import { invalid, label } from "./field.ts"

/** Above this the manifest no longer fits where it is read. */
const agentsMax = 1000

/** Every Agent key of the program, which is what a policy may name. */
const agentKeys = (agents: readonly DescribedAgent[]): Result<readonly DefinitionKey[]> => {
  const keys: DefinitionKey[] = []
  for (const agent of agents) {
    const at = label("agents", agent.id, agent.exportName)
    const key = judge(DefinitionKey, agent.id)
    if (!key.ok) return invalid(`${at}.id`, key.error.message)
    if (keys.includes(key.value))
      return invalid(`${at}.id`, `is the id of two Agents; the second is exported as ${agent.exportName}`)
    keys.push(key.value)
  }
  return ok(keys)
}

const maximum = (agent: DescribedAgent, at: string, keys: readonly DefinitionKey[]): Result<Scope> => {
  const policy =
    agent.runtimeMcp === undefined
      ? ({ given: false } as const)
      : ({ given: true, value: agent.runtimeMcp } as const)
  const resolved = resolveMaximum(policy, keys)
  if (resolved.ok) return resolved
  const { code, message, field } = resolved.error
  // The policy as a whole is called by this name there.
  const inside = field === undefined || field === "policy" ? "" : `.${field}`
  const path = `${at}.runtimeMcp${inside}`
  return { ok: false, error: failure(code, `${at}.runtimeMcp: ${message}`, path) }
}

const parseAgent = (
  agent: DescribedAgent & { readonly id: DefinitionKey },
  keys: readonly DefinitionKey[],
  templates: readonly { readonly id: DefinitionKey }[],
): Result<AgentManifest> => {
  const at = label("agents", agent.id, agent.exportName)
  const [unknown] = agent.unknownFields
  if (unknown !== undefined) return invalid(`${at}.${unknown}`, "is not a field of agent()")
  const template = agent.template === null ? undefined : templates[agent.template]
  if (template === undefined)
    return invalid(`${at}.template`, "must be what template() returned in this program")
  if (!agent.hasTurn) return invalid(`${at}.turn`, "must be a function")
  const closeAfterIdle = parseDuration(agent.closeAfterIdle, `${at}.closeAfterIdle`)
  if (!closeAfterIdle.ok) return closeAfterIdle
  const runtimeMcp = maximum(agent, at, keys)
  if (!runtimeMcp.ok) return runtimeMcp
  return ok(
    AgentManifest.parse({
      id: agent.id,
      template: template.id,
      runtimeMcp: runtimeMcp.value,
      closeAfterIdleMs: closeAfterIdle.value,
      hasInit: agent.hasInit,
    }),
  )
}

/** `templates` are those of the description, in its order. */
export const parseAgents = (
  agents: readonly DescribedAgent[],
  templates: readonly { readonly id: DefinitionKey }[],
): Result<readonly AgentManifest[]> => {
  if (agents.length === 0)
    return invalid("agents", "is empty: export at least one result of agent() from the program's entry")
  if (agents.length > agentsMax) return invalid("agents", `has more than ${agentsMax} entries`)
  const keys = agentKeys(agents)
  if (!keys.ok) return keys
  const parsed: AgentManifest[] = []
  for (const [index, agent] of agents.entries()) {
    const id = keys.value[index]
    if (id === undefined) continue
    const one = parseAgent({ ...agent, id }, keys.value, templates)
    if (!one.ok) return one
    parsed.push(one.value)
  }
  return ok(parsed.toSorted((a, b) => (a.id < b.id ? -1 : 1)))
}
