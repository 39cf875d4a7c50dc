/**
 * Everything about one scope that requests ask for again and again, encoded once: the tool list, the skill, what
 * `initialize` and `server/discover` say. A request then costs its checks and one concatenation.
 */
import type { Scope } from "@computerd/protocol/scope"
import { runtimeSkillName, type ToolName } from "@computerd/protocol/tools"
import {
  type CreationGrant,
  renderSkill,
  serverInstructions,
  skillDescription,
} from "@computerd/skill/render"
import { grantedAgents } from "../policy/scope.ts"
import { exposedTools, type Role } from "../tools/exposure.ts"
import { listedTool } from "../tools/listing.ts"
import type { Tool } from "../tools/tool.ts"
import { encode, framed, serverInfo, toolText } from "./answers.ts"
import type { Era } from "./era.ts"
import { newVersion } from "./versions.ts"

export interface PreparedEra {
  readonly tools: string
  readonly skillList: string
  readonly skill: string
}

export interface Prepared {
  readonly old: PreparedEra
  readonly new: PreparedEra
  readonly discovery: string
  /** Result of `initialize` for a negotiated revision. */
  readonly initialize: (version: string) => string
}

const capabilities = encode({ tools: {} })

const targets = (scope: Scope, { operation }: Tool): readonly string[] | "all" => {
  if (operation === "none" || operation === "list_computers") return []
  if (operation !== "creation") return grantedAgents(scope, operation)
  const [spawned, started] = [grantedAgents(scope, "spawn"), grantedAgents(scope, "start")]
  if (spawned === "all" || started === "all") return "all"
  return [...new Set([...spawned, ...started])].sort()
}

const creations = (scope: Scope): readonly CreationGrant[] | "any" =>
  scope.kind === "unrestricted" ? "any" : scope.allow.filter((rule) => "computer" in rule)

const skillText = (scope: Scope, role: Role): string => {
  const tools = exposedTools(scope, role)
  return renderSkill({
    role,
    tools: tools.map(({ name }) => name),
    targets: new Map<ToolName, readonly string[] | "all">(
      tools.map((tool) => [tool.name, targets(scope, tool)]),
    ),
    creations: creations(scope),
  })
}

/** The new era says how long an answer may be kept: not at all, since a scope's list changes with its server. */
const uncached = `"ttlMs":0,"cacheScope":"private"`

const prepareEra = (era: Era, texts: { readonly tools: string; readonly skill: string }): PreparedEra => {
  const entry = { name: runtimeSkillName, description: skillDescription }
  const tools = `"tools":${texts.tools}`
  return {
    tools: framed(era, era === "new" ? `${tools},${uncached}` : tools),
    skillList: toolText(era, encode({ skills: [entry] })),
    skill: toolText(era, encode({ ...entry, content: texts.skill })),
  }
}

export const prepare = (scope: Scope, role: Role): Prepared => {
  const texts = { tools: encode(exposedTools(scope, role).map(listedTool)), skill: skillText(scope, role) }
  const about = `"capabilities":${capabilities},"instructions":${encode(serverInstructions)}`
  return {
    old: prepareEra("old", texts),
    new: prepareEra("new", texts),
    discovery: framed("new", `"supportedVersions":${encode([newVersion])},${about},${uncached}`),
    initialize: (version) =>
      `{"protocolVersion":${encode(version)},"serverInfo":${encode(serverInfo)},${about}}`,
  }
}
