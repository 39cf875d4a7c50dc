import { DefinitionKey, DeploymentId } from "@computerd/protocol/ids"
import { CreationOperation } from "@computerd/protocol/scope"
import { z } from "zod"
import { cursor } from "./fields.ts"
import { reads, tool } from "./tool.ts"

export const listAgents = tool({
  name: "list_agents",
  title: "List Agents",
  description:
    "The Agents for which this connection may create Sessions, all from this Session's own Deployment, 50 a page.",
  input: z.strictObject({
    operation: CreationOperation.describe("Which way of creating work you have in mind."),
    cursor: cursor.optional(),
  }),
  result: z.strictObject({
    deploymentId: DeploymentId,
    agents: z.array(z.strictObject({ agent: DefinitionKey })),
    nextCursor: z.string().optional(),
  }),
  annotations: reads,
  operation: "creation",
  target: "each_entry",
  rootOnly: true,
  mutating: false,
})
