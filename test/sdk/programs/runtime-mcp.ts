/** Agents that obtain a connection for a harness: the whole maximum in `init`, a narrower one for a native client. */
import { agent, image, type RuntimeMcpConnectionOptions, template } from "@helmr/sdk"

const computer = template({
  id: "computer",
  image: image("computer"),
  resources: { cpu: 1, memory: 536_870_912 },
})

export const coordinator = agent({
  id: "coordinator",
  template: computer,
  async init(ctx) {
    const { url, headers } = await ctx.mcp.getConnectionOptions()
    return { helmrMcp: { url, headers } }
  },
  async turn(_turn, ctx) {
    return { ok: ctx.initResult.helmrMcp.url.endsWith("/mcp") }
  },
})

export const observer = agent({
  id: "observer",
  template: computer,
  closeAfterIdle: "10m",
  async turn(turn, ctx) {
    const observation: RuntimeMcpConnectionOptions = await ctx.mcp.getConnectionOptions({
      allow: [{ operation: "inspect_turn", agents: ["helper"] }],
    })
    await turn.output.write(new URL(observation.url).pathname)
  },
})
