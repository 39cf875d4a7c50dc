/** Deployments: programs as they were published. */
import { z } from "zod"
import { Timestamp } from "../content.ts"
import { DefinitionKey, DeploymentId } from "../ids.ts"
import { IdempotencyKey, nextCursor, noParams, noQuery, pageQuery } from "./fields.ts"
import { route } from "./route.ts"

export const Deployment = z.object({
  id: DeploymentId,
  /** Whether `start` and Computers without a pin take it. */
  current: z.boolean(),
  agents: z.array(DefinitionKey),
  templates: z.array(DefinitionKey),
  createdAt: Timestamp,
})
export type Deployment = Readonly<z.infer<typeof Deployment>>

export const DeploymentPage = z.object({ deployments: z.array(Deployment), nextCursor })
export type DeploymentPage = Readonly<z.infer<typeof DeploymentPage>>

export const PublishedDeployment = z.object({
  deploymentId: DeploymentId,
  /** What the author should know, one sentence each. */
  notices: z.array(z.string()),
})
export type PublishedDeployment = Readonly<z.infer<typeof PublishedDeployment>>

export const deploymentRoutes = {
  publish: route({
    name: "publishDeployment",
    method: "POST",
    path: "/v1/deployments",
    permission: "deployments:write",
    description:
      "Publishes the program in the archive; the Deployment becomes the current one. A refused program changes nothing.",
    params: noParams,
    query: z.strictObject({ idempotencyKey: IdempotencyKey }),
    body: { kind: "archive" },
    answer: { kind: "json", status: 201, schema: PublishedDeployment },
  }),
  list: route({
    name: "listDeployments",
    method: "GET",
    path: "/v1/deployments",
    permission: "deployments:read",
    description: "Lists Deployments, newest first.",
    params: noParams,
    query: z.strictObject(pageQuery),
    body: { kind: "none" },
    answer: { kind: "json", status: 200, schema: DeploymentPage },
  }),
  current: route({
    name: "getCurrentDeployment",
    method: "GET",
    path: "/v1/deployments/current",
    permission: "deployments:read",
    description: "Reads the Deployment that new work from outside takes.",
    params: noParams,
    query: noQuery,
    body: { kind: "none" },
    answer: { kind: "json", status: 200, schema: Deployment },
  }),
  get: route({
    name: "getDeployment",
    method: "GET",
    path: "/v1/deployments/:deploymentId",
    permission: "deployments:read",
    description: "Reads one Deployment.",
    params: z.strictObject({ deploymentId: DeploymentId }),
    query: noQuery,
    body: { kind: "none" },
    answer: { kind: "json", status: 200, schema: Deployment },
  }),
}
