/** What every server serves: sixteen tools, of which one is called and answers at once with one text item. */
import { z } from "zod"
import { ToolName } from "../../protocol/tools.ts"

export const token = "Bearer bench-0123456789abcdef0123456789abcdef0123456789abcdef"

/** One shape that takes the arguments of every workload. */
const shape = { name: z.string().optional(), sessionId: z.string().optional() }

export const workloadTools = ToolName.options.map((name) => ({
  name,
  description: `The tool ${name}, described in a sentence of about the usual length for such a thing.`,
  shape,
  schema: z.strictObject(shape),
}))

const description =
  "How to work with other Agents through this server: hand work to them, follow it to its outcome, steer it and end it, and what to do when a call fails. Read it before the first call."

/** What `skills({})` answers; the peers say the same. */
export const answerText = JSON.stringify({ skills: [{ name: "helmr-runtime", description }] })
export const toolResult = { content: [{ type: "text" as const, text: answerText }] }

const rpc = (method: string, params: unknown): string =>
  JSON.stringify({ jsonrpc: "2.0", id: 1, method, params })

const uuid = "01890a5d-ac96-774b-bcce-b302099a8057"

/** Bodies by name. `remote` is a call that a stub receiver answers; the peers answer `skills` there too. */
export const bodies = {
  skills: rpc("tools/call", { name: "skills", arguments: {} }),
  remote: rpc("tools/call", { name: "inspect_session", arguments: { sessionId: `ses_${uuid}` } }),
  list: rpc("tools/list", {}),
  initialize: rpc("initialize", {
    protocolVersion: "2025-11-25",
    capabilities: {},
    clientInfo: { name: "bench", version: "1.0.0" },
  }),
} as const
export type Workload = keyof typeof bodies

/** The client learns the port from the first line of standard output. */
export const announce = (port: number): void => console.log(port)
