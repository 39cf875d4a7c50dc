/** `client.agents`: what can be started. */
import { agentRoutes } from "@computerd/protocol/api/agents"
import { sessionRoutes } from "@computerd/protocol/api/sessions"
import type { RuntimeMcpRule } from "../mcp.ts"
import { type ContentInput, contentOf } from "./content.ts"
import type { CallOptions, MutationOptions } from "./options.ts"
import { type PageOptions, pageOf } from "./paging.ts"
import { createSessionHandle, type SessionHandle } from "./session.ts"
import type { Transport } from "./transport/transport.ts"
import { createTurnHandle, type TurnHandle } from "./turns.ts"

/** An Agent as a Deployment pins it. */
export interface DeployedAgent {
  readonly id: string
  readonly deploymentId: string
  readonly template: string
  /** The resolved maximum: explicit rules, whatever its author left out. */
  readonly runtimeMcp: { readonly allow: readonly RuntimeMcpRule[] }
  /** `null`: its Sessions never close for idleness. */
  readonly closeAfterIdleMs: number | null
}

export interface AgentPage {
  readonly deploymentId: string
  readonly agents: readonly DeployedAgent[]
  readonly nextCursor?: string | undefined
}

/** Of definitions. */
export interface PinOptions extends CallOptions {
  /** Absent: the current Deployment. */
  readonly deploymentId?: string | undefined
}

export interface StartOptions extends MutationOptions {
  /** Of the first Turn. */
  readonly input: ContentInput
  /** A name for the Session; no two that are not closed share one. */
  readonly sessionKey?: string | undefined
  /** Absent: a new Computer from the Agent's Template. */
  readonly computerId?: string | undefined
}

export interface Started {
  readonly session: SessionHandle
  /** The first one. */
  readonly turn: TurnHandle
}

export interface Agents {
  /** Starts a Session of an Agent of the current Deployment, with its first Turn. */
  readonly start: (agent: string, options: StartOptions) => Promise<Started>
  readonly get: (agent: string, options?: PinOptions) => Promise<DeployedAgent>
  readonly list: (options?: PinOptions & PageOptions) => Promise<AgentPage>
}

export const createAgents = (transport: Transport): Agents => ({
  start: async (agent, options) => {
    const { input, sessionKey, computerId, idempotencyKey = transport.ports.newKey(), ...settings } = options
    const body = { agent, input: contentOf(input), idempotencyKey, sessionKey, computerId }
    const { sessionId, turnId } = await transport.call(
      { route: sessionRoutes.start, params: {}, query: {}, body, idempotencyKey },
      settings,
    )
    return {
      session: createSessionHandle(transport, sessionId),
      turn: createTurnHandle(transport, { sessionId, id: turnId }),
    }
  },
  get: (agent, { deploymentId, ...settings } = {}) =>
    transport.call(
      { route: agentRoutes.get, params: { agent }, query: { deploymentId }, body: undefined },
      settings,
    ),
  list: (options = {}) => {
    const query = { ...pageOf(options), deploymentId: options.deploymentId }
    return transport.call({ route: agentRoutes.list, params: {}, query, body: undefined }, options)
  },
})
