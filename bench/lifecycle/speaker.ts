/** Speaks the Session channel for a stand-in, with the session host's own client of it. */
import type { McpConnection, SessionBootstrap } from "../../protocol/channel.ts"
import { idSource } from "../../protocol/ids.ts"
import { Channel } from "../../session-host/channel/channel.ts"
import { channelTiming } from "../../session-host/channel/timing.ts"
import { systemPorts } from "../../session-host/ports.ts"

const newId = idSource(() => Bun.randomUUIDv7())
const operations = ["enqueue", "inspect_session", "inspect_turn", "close_session"] as const

/** The `number`th proper subset of the maximum, from 1 to 15. */
const policy = (number: number) => ({
  allow: operations
    .filter((_, bit) => (number >> bit) & 1)
    .map((operation) => ({ operation, agents: ["probe"] })),
})

export interface Speech {
  readonly bootstrap: SessionBootstrap
  /** How many scopes it asks for, the maximum first; at most 16. */
  readonly scopes: number
  /** With the connection of the maximum, once every scope was asked for. */
  readonly connected?: (connection: McpConnection) => void
}

/** Says that it is ready when it has all its connections. */
export const speakFor = ({ bootstrap, scopes, connected }: Speech): void => {
  const answers: McpConnection[] = []
  const ask = (): void => {
    const given = answers.length === 0 ? {} : { policy: policy(answers.length) }
    channel.send({ type: "mcp_connection", requestId: newId("req"), ...given })
  }
  const channel = new Channel({
    bootstrap,
    ports: systemPorts,
    timing: channelTiming,
    opened: () => undefined,
    acknowledged: () => undefined,
    ended: () => undefined,
    apply: (body) => {
      if (body.type === "initialize") ask()
      if (body.type !== "mcp_connection_result") return
      if (!body.result.ok) throw new Error(body.result.error.message)
      answers.push(body.result.value)
      if (answers.length < scopes) return ask()
      channel.send({ type: "ready" })
      const [maximum] = answers
      if (maximum !== undefined) connected?.(maximum)
    },
  })
}
