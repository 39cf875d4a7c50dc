/** Agents as a Deployment pins them. */
import { z } from "zod"
import { DefinitionKey, DeploymentId } from "../ids.ts"
import { NormalRule } from "../scope.ts"
import { nextCursor, noParams, pageQuery } from "./fields.ts"
import { route } from "./route.ts"

/** Without one: the current Deployment. */
export const deploymentPin = DeploymentId.optional().describe("Absent: the current Deployment.")

export const Agent = z.object({
  id: DefinitionKey,
  deploymentId: DeploymentId,
  template: DefinitionKey,
  /** The resolved maximum: explicit rules, whatever its author left out. */
  runtimeMcp: z.object({ allow: z.array(NormalRule) }),
  /** `null`: its Sessions never close for idleness. */
  closeAfterIdleMs: z.int().min(0).nullable(),
})
export type Agent = Readonly<z.infer<typeof Agent>>

export const AgentPage = z.object({ deploymentId: DeploymentId, agents: z.array(Agent), nextCursor })
export type AgentPage = Readonly<z.infer<typeof AgentPage>>

export const agentRoutes = {
  list: route({
    name: "listAgents",
    method: "GET",
    path: "/v1/agents",
    permission: "deployments:read",
    description: "Lists the Agents of one Deployment by key.",
    params: noParams,
    query: z.strictObject({ ...pageQuery, deploymentId: deploymentPin }),
    body: { kind: "none" },
    answer: { kind: "json", status: 200, schema: AgentPage },
  }),
  get: route({
    name: "getAgent",
    method: "GET",
    path: "/v1/agents/:agent",
    permission: "deployments:read",
    description: "Reads one Agent with its resolved Runtime MCP maximum.",
    params: z.strictObject({ agent: DefinitionKey }),
    query: z.strictObject({ deploymentId: deploymentPin }),
    body: { kind: "none" },
    answer: { kind: "json", status: 200, schema: Agent },
  }),
}
