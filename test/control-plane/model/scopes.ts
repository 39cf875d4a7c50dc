/** The program that histories publish, and the scopes that their callers present. */
import type { DeploymentManifest } from "@computerd/protocol/manifest"
import { type NormalRule, Scope } from "@computerd/protocol/scope"
import { unrestricted } from "@computerd/runtime-mcp/policy/scope"
import { agentOf, manifestOf, templateOf } from "../rig.ts"
import type { MAgent, MDeployment } from "./world.ts"

const targeted = [
  "enqueue",
  "send_turn",
  "interrupt_turn",
  "interrupt_session",
  "resume_session",
  "close_session",
  "cancel_session",
  "inspect_session",
  "inspect_turn",
] as const

const everyAgent = ["lead", "quick", "spare", "mute"]

const wide = (agents: readonly string[]): readonly NormalRule[] => [
  { operation: "spawn", agents, computer: "new" },
  { operation: "spawn", agents, computer: "caller" },
  { operation: "start", agents, computer: "new" },
  { operation: "start", agents, computer: "caller" },
  ...targeted.map((operation): NormalRule => ({ operation, agents })),
  { operation: "list_computers" },
]

const narrow: readonly NormalRule[] = [
  { operation: "spawn", agents: ["mute", "spare"], computer: "new" },
  { operation: "enqueue", agents: ["lead"] },
  { operation: "inspect_session", agents: ["spare"] },
  { operation: "inspect_turn", agents: ["lead", "spare"] },
]

const atomsOf = (rules: readonly NormalRule[]): ReadonlySet<string> =>
  new Set(
    rules.flatMap((rule) => {
      if (rule.operation === "list_computers") return ["list_computers"]
      const placement = "computer" in rule ? ` ${rule.computer}` : ""
      return rule.agents.map((agent) => `${rule.operation}${placement} ${agent}`)
    }),
  )

interface Recipe {
  readonly template: string
  readonly idleMs: number | null
  readonly rules: readonly NormalRule[]
}

/** Later publications lack `spare` and close `lead` for idleness. */
const recipes = (version: number): ReadonlyMap<string, Recipe> => {
  const all: [string, Recipe][] = [
    [
      "lead",
      {
        template: "basic",
        idleMs: version === 0 ? null : 5_000,
        rules: wide(everyAgent.slice(0, version === 0 ? 4 : 2)),
      },
    ],
    ["quick", { template: "brief", idleMs: 1_000, rules: version === 0 ? narrow : [] }],
    ["spare", { template: "basic", idleMs: 3_000, rules: wide(everyAgent) }],
    ["mute", { template: "basic", idleMs: 0, rules: [] }],
  ]
  return new Map(all.filter(([id]) => version === 0 || id !== "spare"))
}

const deleteAfter = new Map<string, number | null>([
  ["basic", null],
  ["brief", 2_000],
])

export const manifestFor = (version: number): DeploymentManifest =>
  manifestOf(
    [...recipes(version)].map(([id, recipe]) => ({
      ...agentOf(id, {
        closeAfterIdleMs: recipe.idleMs,
        runtimeMcp: Scope.parse({ kind: "finite", allow: recipe.rules }),
      }),
      template: templateOf(recipe.template).id,
    })),
    [...deleteAfter].map(([id, deleteAfterUnusedMs]) => templateOf(id, { deleteAfterUnusedMs })),
  )

export const modelFor = (id: string, env: string, version: number): MDeployment => ({
  id,
  env,
  agents: new Map(
    [...recipes(version)].map(([key, recipe]): [string, MAgent] => [
      key,
      { template: recipe.template, idleMs: recipe.idleMs, atoms: atomsOf(recipe.rules) },
    ]),
  ),
  deleteAfter,
})

export const agentKeys = everyAgent

/** The maximum mostly; sometimes a part of it, sometimes more than it, once in a while what only tests can claim. */
export const presentedScope = (
  maximum: Scope,
  pick: number,
): { readonly scope: Scope; readonly atoms: ReadonlySet<string> } => {
  if (maximum.kind === "unrestricted") return { scope: maximum, atoms: new Set() }
  const of = (allow: readonly NormalRule[]) => ({
    scope: { kind: "finite" as const, allow },
    atoms: atomsOf(allow),
  })
  if (pick % 16 === 15) return of(wide(everyAgent))
  if (pick % 16 === 14) return { scope: unrestricted, atoms: new Set(["beyond every maximum"]) }
  if (pick % 16 >= 12) return of(maximum.allow.filter((_, index) => ((pick >> 4) >> (index % 8)) % 2 === 0))
  return of(maximum.allow)
}
