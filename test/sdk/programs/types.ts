/**
 * What the types promise authors, held by the compiler: each `@ts-expect-error` fails the type check when its line
 * compiles. R26: the three Runtime MCP types are exported.
 */
import {
  type AgentContext,
  agent,
  type Content,
  image,
  type RuntimeMcpConnectionOptions,
  type RuntimeMcpPolicy,
  type RuntimeMcpRule,
  source,
  template,
} from "@helmr/sdk"

type Same<One, Other> =
  (<T>() => T extends One ? 1 : 2) extends <T>() => T extends Other ? 1 : 2 ? true : never
const same = <One, Other>(_proof: Same<One, Other>): void => {}

same<RuntimeMcpConnectionOptions["headers"], Readonly<{ Authorization: string }>>(true)
const rule: RuntimeMcpRule = { operation: "spawn", agents: ["a"], computer: "caller" }
export const policy: RuntimeMcpPolicy = { allow: [rule, { operation: "list_computers" }] }

// @ts-expect-error placement belongs to creation only
export const misplaced: RuntimeMcpRule = { operation: "enqueue", agents: ["a"], computer: "new" }
// @ts-expect-error list_computers names no Agents
export const targeted: RuntimeMcpRule = { operation: "list_computers", agents: ["a"] }
// @ts-expect-error a policy has allow
export const empty: RuntimeMcpPolicy = {}
// @ts-expect-error there is no such operation
export const wild: RuntimeMcpRule = { operation: "*", agents: ["a"] }

const computer = template({ id: "c", image: image("c"), resources: { cpu: 0.5, memory: "512MiB" } })

interface Report {
  readonly title: string
  readonly rows: readonly { readonly count: number; readonly note?: string }[]
}

export const inferred = agent({
  id: "inferred",
  template: computer,
  async init(ctx) {
    return { count: 1, key: ctx.session.key }
  },
  async turn(turn, ctx) {
    same<typeof ctx.initResult, { count: number; key: string | undefined }>(true)
    same<typeof turn.input, Content>(true)
    const report: Report = { title: turn.id, rows: [{ count: ctx.initResult.count }] }
    return report
  },
})

export const without = agent({
  id: "without",
  template: computer,
  turn(_turn, ctx) {
    same<typeof ctx, AgentContext<undefined>>(true)
    return ctx.initResult
  },
})

export const silent = agent({ id: "silent", template: computer, turn() {} })

// @ts-expect-error JSON has no BigInt
export const big = agent({ id: "big", template: computer, turn: () => 5n })
// @ts-expect-error JSON has no functions
export const hidden = agent({ id: "hidden", template: computer, turn: async () => ({ f: () => 1 }) })
// @ts-expect-error JSON has no dates
export const dated = agent({ id: "dated", template: computer, turn: async () => ({ at: new Date() }) })
// @ts-expect-error turn is required
export const idle = agent({ id: "idle", template: computer })
// @ts-expect-error a Template is made with template()
export const plain = agent({ id: "plain", template: { id: "x" }, turn() {} })
// @ts-expect-error there is no such unit
export const slow = agent({ id: "slow", template: computer, closeAfterIdle: "2 weeks", turn() {} })
// @ts-expect-error memory has a unit
export const thin = template({ id: "t", image: image("t"), resources: { cpu: 1, memory: "1" } })
export const both = template({
  id: "b",
  image: image("b"),
  resources: { cpu: 1, memory: 1 },
  // @ts-expect-error an allowlist and blockAll exclude each other
  network: { allowDomains: [], blockAll: true },
})
// @ts-expect-error exclude is a list
export const excluded = source.directory(".", { exclude: "*.log" })

export const readonlyThings = agent({
  id: "readonly",
  template: computer,
  turn(turn, ctx) {
    // @ts-expect-error a Turn is readonly
    turn.id = "x"
    // @ts-expect-error so is the context
    ctx.session.id = "x"
    // @ts-expect-error and the input
    turn.input.push({ type: "text", text: "x" })
  },
})
