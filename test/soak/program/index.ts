import { appendFileSync, existsSync } from "node:fs"
import { agent, type InitContext, image, template } from "@helmr/sdk"
import { Client } from "@modelcontextprotocol/sdk/client/index.js"
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js"
import { collectOnSignal } from "../collect.ts"

const computer = template({
  id: "computer",
  image: image("computer").workdir("/workspace"),
  resources: { cpu: 1, memory: "256MiB" },
  deleteAfterUnused: "500ms",
})

const agents = ["owner", "veteran", "worker", "traveller"]
const onAgents = [
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

const runtimeMcp = {
  allow: [
    { operation: "spawn", agents, computer: "new" },
    { operation: "spawn", agents, computer: "caller" },
    { operation: "start", agents },
    { operation: "list_computers" },
    ...onAgents.map((operation) => ({ operation, agents })),
  ],
} as const

const connect = async (ctx: InitContext) => {
  const connection = await ctx.mcp.getConnectionOptions()
  const client = new Client({ name: "soak", version: "1.0.0" })
  const requestInit = { headers: connection.headers }
  await client.connect(new StreamableHTTPClientTransport(new URL(connection.url), { requestInit }))
  const ask = async (name: string, args: Readonly<Record<string, unknown>>) => {
    const answer = await client.callTool({ name, arguments: args })
    const text = (answer.content as readonly { readonly text: string }[])[0]?.text ?? ""
    if (answer.isError === true) throw new Error(`${name}: ${text}`)
    return JSON.parse(text)
  }
  return { connection, ask }
}

/** Lets whoever drives the soak make calls in its name. */
export const owner = agent({
  id: "owner",
  template: computer,
  runtimeMcp,
  init: async (ctx) => {
    const { connection } = await connect(ctx)
    const init = { pid: process.pid, connection, recovery: ctx.recovery }
    appendFileSync("inits-owner.jsonl", `${JSON.stringify(init)}\n`)
  },
  turn: () => ({ pid: process.pid }),
})

/** Lives as long as the soak; each of its Turns writes output, answers and asks the endpoint for what it can see. */
export const veteran = agent({
  id: "veteran",
  template: computer,
  runtimeMcp,
  init: async (ctx) => {
    collectOnSignal()
    return connect(ctx)
  },
  async turn(turn, { initResult: { ask } }) {
    await turn.output.write(`Turn ${turn.sequence}\n`)
    const { computers } = await ask("list_computers", {})
    await ask("list_sessions", { relation: "owned" })
    await turn.respond(turn.input)
    return { pid: process.pid, computers: computers.length }
  },
})

/** Says where it runs in the file `note`, and is done when the file `gate` exists or it is told to stop. */
export const worker = agent({
  id: "worker",
  template: computer,
  runtimeMcp: { allow: [] },
  async turn(turn) {
    const { note, gate } = JSON.parse(turn.input[0]?.text ?? "{}")
    const heard: unknown[] = []
    turn.onMessage((message) => {
      heard.push(message)
    })
    if (note !== undefined) await Bun.write(note, String(process.pid))
    while (gate !== undefined && !existsSync(gate) && !turn.signal.aborted) await Bun.sleep(20)
    return { pid: process.pid, heard: heard.length }
  },
})

/** Independent work on a Computer of its own, which delegates by itself and closes what it made. */
export const traveller = agent({
  id: "traveller",
  template: computer,
  runtimeMcp,
  closeAfterIdle: "300ms",
  init: connect,
  async turn(turn, { computer: { id: computerId }, initResult: { ask } }) {
    const input = [{ type: "text", text: "{}" }]
    const child = await ask("spawn", {
      agent: "worker",
      input,
      computerId,
      idempotencyKey: `${turn.id} spawn`,
    })
    const { sessionId, turnId } = child
    const waited = await ask("wait_turn", { sessionId, turnId, timeoutMs: 30_000 })
    await ask("close_session", { sessionId, idempotencyKey: `${turn.id} close` })
    return waited.status
  },
})
