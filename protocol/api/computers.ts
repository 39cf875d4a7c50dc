/** Computers: where Sessions run. Each keeps the Template and the Deployment that it was created with. */
import { z } from "zod"
import { ComputerStatus, Residency, Timestamp, TurnError } from "../content.ts"
import { ComputerId, DefinitionKey, DeploymentId } from "../ids.ts"
import { ComputerKey, IdempotencyKey, nextCursor, noParams, noQuery, pageQuery } from "./fields.ts"
import { route } from "./route.ts"
import { SessionPage } from "./sessions.ts"

export const Computer = z.object({
  id: ComputerId,
  key: z.string().nullable(),
  template: DefinitionKey,
  deploymentId: DeploymentId,
  status: ComputerStatus,
  residency: Residency,
  /** Why it is `unavailable`. */
  error: TurnError.nullable(),
  deleteAfterUnusedMs: z.int().min(0).nullable(),
  unusedSince: Timestamp.nullable(),
  createdAt: Timestamp,
  updatedAt: Timestamp,
})
export type Computer = Readonly<z.infer<typeof Computer>>

export const ComputerPage = z.object({ computers: z.array(Computer), nextCursor })
export type ComputerPage = Readonly<z.infer<typeof ComputerPage>>

export const CreateComputerRequest = z.strictObject({
  template: DefinitionKey.describe("A Template of the current Deployment."),
  key: ComputerKey.optional(),
  idempotencyKey: IdempotencyKey,
})
export type CreateComputerRequest = Readonly<z.infer<typeof CreateComputerRequest>>

export const CreatedComputer = z.object({
  computerId: ComputerId,
  template: DefinitionKey,
  deploymentId: DeploymentId,
})
export type CreatedComputer = Readonly<z.infer<typeof CreatedComputer>>

export const DeletedComputer = z.object({ computerId: ComputerId, status: z.enum(["deleting", "deleted"]) })
export type DeletedComputer = Readonly<z.infer<typeof DeletedComputer>>

const one = z.strictObject({ computerId: ComputerId })

export const computerRoutes = {
  create: route({
    name: "createComputer",
    method: "POST",
    path: "/v1/computers",
    permission: "computers:write",
    description: "Creates a Computer from a Template of the current Deployment, which it keeps.",
    params: noParams,
    query: noQuery,
    body: { kind: "json", schema: CreateComputerRequest },
    answer: { kind: "json", status: 201, schema: CreatedComputer },
  }),
  list: route({
    name: "listComputers",
    method: "GET",
    path: "/v1/computers",
    permission: "computers:read",
    description: "Lists Computers, newest first; without a status those that are not deleted.",
    params: noParams,
    query: z.strictObject({ ...pageQuery, status: ComputerStatus.optional() }),
    body: { kind: "none" },
    answer: { kind: "json", status: 200, schema: ComputerPage },
  }),
  get: route({
    name: "getComputer",
    method: "GET",
    path: "/v1/computers/:computerId",
    permission: "computers:read",
    description: "Reads one Computer with its own pin.",
    params: one,
    query: noQuery,
    body: { kind: "none" },
    answer: { kind: "json", status: 200, schema: Computer },
  }),
  members: route({
    name: "listComputerSessions",
    method: "GET",
    path: "/v1/computers/:computerId/sessions",
    permission: "sessions:read",
    description: "Lists the Sessions that run on a Computer, newest first.",
    params: one,
    query: z.strictObject(pageQuery),
    body: { kind: "none" },
    answer: { kind: "json", status: 200, schema: SessionPage },
  }),
  delete: route({
    name: "deleteComputer",
    method: "DELETE",
    path: "/v1/computers/:computerId",
    permission: "computers:write",
    description: "Deletes a Computer and what it holds. Close or cancel its Sessions first.",
    params: one,
    query: z.strictObject({ idempotencyKey: IdempotencyKey }),
    body: { kind: "none" },
    answer: { kind: "json", status: 200, schema: DeletedComputer },
  }),
}
