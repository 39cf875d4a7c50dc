/** A Template with every kind of policy, an Agent that may do nothing remotely, and one that narrows what it passes on (R234). */
import { query } from "@anthropic-ai/claude-agent-sdk"
import { agent, image, source, template } from "@helmr/sdk"

export const workerComputer = template({
  id: "worker-computer",
  image: image("worker")
    .from("node:24-bookworm-slim")
    .copy(source.directory("."), "/workspace")
    .workdir("/workspace"),
  resources: { cpu: 2, memory: "4GiB" },
  network: {
    allowDomains: [
      "api.anthropic.com",
      "*.services.example.com",
      { domain: "records.corp.example", ipRanges: ["10.60.12.0/24"] },
    ],
  },
  secrets: [
    {
      secret: "ANTHROPIC_API_KEY",
      env: {
        name: "ANTHROPIC_API_KEY",
        mode: "protected",
        allowedOrigins: ["https://api.anthropic.com"],
      },
    },
  ],
  prepareNetwork: { allowDomains: ["registry.packages.example"] },
  prepareSecrets: [],
  async prepare(ctx) {
    await ctx.exec(["npm", "ci"], { cwd: "/workspace" })
  },
})

export const reviewer = agent({
  id: "reviewer",
  template: workerComputer,
  runtimeMcp: { allow: [] },
  async turn() {
    return null
  },
})

export const coordinator = agent({
  id: "coordinator",
  template: workerComputer,
  runtimeMcp: {
    allow: [
      { operation: "spawn", agents: ["reviewer"], computer: "new" },
      { operation: "inspect_session", agents: ["reviewer"] },
      { operation: "inspect_turn", agents: ["reviewer"] },
    ],
  },
  async init(ctx) {
    const connection = await ctx.mcp.getConnectionOptions({
      allow: [
        { operation: "spawn", agents: ["reviewer"], computer: "new" },
        { operation: "inspect_session", agents: ["reviewer"] },
      ],
    })
    return { helmr: { type: "http" as const, ...connection } }
  },
  async turn(turn, { initResult }) {
    const abortController = new AbortController()
    turn.onCancel(() => abortController.abort())
    for await (const message of query({
      prompt: turn.input.map((part) => part.text).join(""),
      options: { mcpServers: { helmr: initResult.helmr }, abortController },
    })) {
      if (message.type === "result") {
        if (message.subtype !== "success") throw new Error("Native run failed")
        await turn.respond(message.result)
      }
    }
    return null
  },
})
