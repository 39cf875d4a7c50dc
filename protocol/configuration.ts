/**
 * Configuration of one supervisor, as its file holds it. A driver writes the file and the supervisor reads it, so
 * the schema belongs to both. Environment variables (`COMPUTERD_…`) and flags override single fields.
 */
import { z } from "zod"
import { ComputerId } from "./ids.ts"

const directory = z.string().regex(/^\//, "must be an absolute path")

const port = z.int().min(1024).max(65_535)
const portsForm = 'must be { "first": 20000, "last": 31999 } in the file, elsewhere 20000-31999'

export const PortRange = z
  .strictObject(
    { first: port, last: port },
    { error: (issue) => (issue.code === "invalid_type" ? portsForm : undefined) },
  )
  .refine((range) => range.first <= range.last, "must not have first above last")
export type PortRange = Readonly<z.infer<typeof PortRange>>

/** Below these a Session process could not even start. */
const memoryMinBytes = 64 * 1024 * 1024
const pidsMin = 16

export const SessionLimits = z.strictObject({
  memoryBytes: z.int().min(memoryMinBytes).optional(),
  pids: z.int().min(pidsMin).optional(),
})
export type SessionLimits = Readonly<z.infer<typeof SessionLimits>>

export const SupervisorConfiguration = z.strictObject({
  computerId: ComputerId,
  /** `http://host:port` of the control plane; the link uses the same address. */
  controlPlaneUrl: z.url({ protocol: /^https?$/ }),
  /** File of mode 0600 that holds the Computer's credential on one line. */
  credentialFile: directory,
  stateDirectory: directory,
  /** Working directory of Session processes. */
  workspace: directory,
  /** Ports for the Session channel and MCP listeners; outside the kernel's ephemeral range. */
  ports: PortRange.default({ first: 20_000, last: 31_999 }),
  /** Command of the session host: executable and arguments. */
  sessionHost: z.array(z.string()).min(1),
  /** Variables that every Session process gets beside the supervisor's own. */
  environment: z.record(z.string().regex(/^[A-Za-z_][A-Za-z0-9_]*$/), z.string()).default({}),
  /** Of each Session, with all that its process starts. */
  limits: SessionLimits.default({}),
  logLevel: z.enum(["debug", "info", "warn", "error"]).default("info"),
  /** Stop when standard input ends: the process that started this one is gone. */
  lifeline: z.boolean().default(false),
})
export type SupervisorConfiguration = Readonly<z.infer<typeof SupervisorConfiguration>>
