/**
 * The operator surface of a control plane: HTTP on a Unix socket (0600) in its state directory. Requests are strict;
 * readers of answers ignore fields that they do not know. An error is `{ error: { code, message, field? } }`.
 */
import {
  Content,
  HoldKind,
  JsonValue,
  SessionStatus,
  TurnError,
  TurnStatus,
} from "@computerd/protocol/content"
import { Failure } from "@computerd/protocol/errors"
import {
  ApiKeyId,
  ComputerId,
  DefinitionKey,
  DeploymentId,
  EnvironmentKey,
  HoldId,
  SessionId,
  TurnId,
} from "@computerd/protocol/ids"
import { z } from "zod"

export const operatorSocketName = "control-plane.sock"
export const deploymentsPath = "/v1/deployments"
export const sessionsPath = "/v1/sessions"
export const snapshotPath = "/v1/snapshot"
export const keysPath = "/v1/keys"
export const healthPath = "/healthz"

/** A wait on one request; a client that wants longer asks again. */
export const waitMaxMs = 60_000

const variableName = z.string().regex(/^[A-Za-z_][A-Za-z0-9_]*$/, "must be the name of a variable")
const defaultEnvironment = EnvironmentKey.parse("default")

export const PublishRequest = z.strictObject({
  /** Absolute: the control plane has a working directory of its own. */
  directory: z.string().regex(/^\//, "must be an absolute path"),
  environment: EnvironmentKey.default(defaultEnvironment),
  variables: z.record(variableName, z.string()).default({}),
})

export const StartRequest = z.strictObject({
  agent: z.string().min(1),
  input: Content,
  idempotencyKey: z.string().min(1),
  environment: EnvironmentKey.default(defaultEnvironment),
  sessionKey: z.string().min(1).optional(),
})

export const TurnPath = z.strictObject({ sessionId: SessionId, turnId: TurnId })
export const TurnQuery = z.strictObject({
  waitMs: z.coerce.number().int().min(0).max(waitMaxMs).default(0),
})

export const Published = z.object({ deploymentId: DeploymentId, notices: z.array(z.string()) })
export type Published = Readonly<z.infer<typeof Published>>

export const Started = z.object({ sessionId: SessionId, turnId: TurnId, sequence: z.int() })
export type Started = Readonly<z.infer<typeof Started>>

export const TurnAnswer = z.object({
  id: TurnId,
  sessionId: SessionId,
  sequence: z.int(),
  status: TurnStatus,
  waitingFor: z.string().nullable(),
  createdAtMs: z.number(),
  startedAtMs: z.number().nullable(),
  settledAtMs: z.number().nullable(),
  result: JsonValue.optional(),
  response: Content.optional(),
  error: TurnError.optional(),
})
export type TurnAnswer = Readonly<z.infer<typeof TurnAnswer>>

export const SnapshotAnswer = z.object({
  atMs: z.number(),
  computers: z.array(
    z.object({
      id: ComputerId,
      environment: EnvironmentKey,
      deploymentId: DeploymentId,
      template: DefinitionKey,
      status: z.string(),
      residency: z.string(),
      error: z.string().nullable(),
      attached: z.boolean(),
    }),
  ),
  sessions: z.array(
    z.object({
      id: SessionId,
      agent: DefinitionKey,
      deploymentId: DeploymentId,
      computerId: ComputerId,
      parent: SessionId.nullable(),
      status: SessionStatus,
      process: z.enum(["none", "starting", "ready"]),
      generation: z.int(),
      holds: z.array(z.object({ id: HoldId, kind: HoldKind })),
      turns: z.array(TurnAnswer),
    }),
  ),
})
export type SnapshotAnswer = Readonly<z.infer<typeof SnapshotAnswer>>

export const KeyPath = z.strictObject({ keyId: ApiKeyId })

export const ErrorAnswer = z.object({ error: Failure })
