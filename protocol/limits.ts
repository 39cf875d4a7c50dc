/** Limits that two or more parts must agree on. A unit is in each name; the reason stands beside the number. */

/** Runtime MCP reference: server behaviour. */
export const mcpRequestBodyMaxBytes = 1_048_576
export const mcpRequestTimeoutMs = 60_000
/** A tool call answers before clients that give up at 60 s do. */
export const mcpToolCallTimeoutMs = 55_000
export const mcpConcurrentRequestsMax = 64
export const mcpRetryAfterSeconds = 1
/** Of one Session process, beside its maximum. */
export const properScopesMax = 15

export const textPartsMax = 64
/** `input` and `message`, JSON-encoded. */
export const contentMaxBytes = 262_144
/** A Turn's result and its response, each JSON-encoded. */
export const outcomeMaxBytes = 262_144
export const idempotencyKeyMaxBytes = 512
export const policyMaxBytes = 65_536
export const waitTurnTimeoutMaxMs = 30_000

export const agentsPageSize = 50
export const computersPageSize = 50
export const sessionsPageDefault = 50
export const sessionsPageMax = 100

export const delegationDepthDefault = 8
export const receiptRetentionMs = 30 * 24 * 60 * 60 * 1000

export const leaseMs = 60_000
export const leaseRenewMs = 15_000
/** How long a getter call waits for a lapsed lease, so that an outage does not fail `init`. */
export const getterLeaseWaitMs = 30_000

/** From the cancel signal until the process tree is killed. */
export const stopGraceMs = 10_000
/** A Session process that hears nothing from a supervisor for this long ends itself. */
export const sessionOrphanMs = 120_000
/** From spawn until the program is loaded and the channel is up. */
export const sessionStartTimeoutMs = 60_000

/** One frame of a link; above the MCP body so that every accepted call fits. */
export const frameMaxBytes = 2_097_152
/** Of the control plane to a supervisor: `attached` lists every Session of a Computer. */
export const linkDownFrameMaxBytes = 16_777_216
/** Frames that one side keeps until they are acknowledged. */
export const unacknowledgedFramesMax = 10_000
/** `output.write`, one chunk. */
export const outputChunkMaxBytes = 65_536
