/**
 * Operator interface: HTTP on a Unix socket (0600) in the supervisor's state directory. `GET /v1/status` answers
 * `Status`. Fields are only ever added; a reader ignores those it does not know. No secret is part of any of them.
 */
import { z } from "zod"
import { Timestamp } from "./content.ts"
import { ComputerId, DefinitionKey, DeploymentId, SessionId, TurnId } from "./ids.ts"

export const operatorSocketName = "operator.sock"
export const statusPath = "/v1/status"

export const SessionState = z.enum(["assigned", "starting", "ready", "running", "stopping", "exited"])
export type SessionState = z.infer<typeof SessionState>

export const Status = z.object({
  version: z.string(),
  pid: z.int(),
  startedAt: Timestamp,
  bootId: z.string(),
  computer: z.object({
    id: ComputerId,
    stateDirectory: z.string(),
    workspace: z.string(),
    /** How process trees are kept and ended here. */
    isolation: z.enum(["cgroup", "process_group"]),
    /** What this machine keeps its supervisor from doing, one sentence each; absent when nothing. */
    degraded: z.array(z.string()).optional(),
    /** Its Session processes stand still for want of a lease; absent while they run. */
    frozenSince: Timestamp.optional(),
  }),
  link: z.object({
    state: z.enum(["connecting", "attached", "backing_off", "refused"]),
    url: z.string(),
    since: Timestamp,
    attempts: z.int(),
    lastError: z.string().nullable(),
    unacknowledgedEvents: z.int(),
  }),
  /** What is kept on disk; absent with supervisors that do not tell. */
  store: z
    .object({
      fileBytes: z.int(),
      /** Of the write-ahead log beside it. */
      logBytes: z.int(),
      /** Space for a full disk; while it is given up nothing new is begun. */
      ballast: z.enum(["kept", "given_up"]),
      admissions: z.object({ open: z.int(), settled: z.int() }),
      eventsSetAside: z.int(),
    })
    .optional(),
  lease: z.object({
    state: z.enum(["none", "held", "lapsed"]),
    epoch: z.int().nullable(),
    remainingMs: z.int().nullable(),
  }),
  sessions: z.array(
    z.object({
      id: SessionId,
      agent: DefinitionKey,
      deploymentId: DeploymentId,
      state: SessionState,
      generation: z.int(),
      pid: z.int().nullable(),
      held: z.boolean(),
      turnId: TurnId.nullable(),
      turnStartedAt: Timestamp.nullable(),
      mcpPort: z.int().nullable(),
      scopes: z.int(),
      lastExit: z.string().nullable(),
    }),
  ),
})
export type Status = z.infer<typeof Status>
