/** What a decision needs beside the state: the time, fresh ids, the installation's limits, and ways to identify and seal a text. */
import type { EnvironmentKey, NewId } from "@computerd/protocol/ids"

export interface EnvironmentSettings {
  /** Owner and requester edges since the start from outside. */
  readonly delegationDepthMax: number
  /** How many Computers may run at once; `null` is no limit. */
  readonly runningComputersMax: number | null
}

export interface Settings {
  readonly environments: (environment: EnvironmentKey) => EnvironmentSettings
  readonly leaseMs: number
  readonly leaseRenewMs: number
  readonly stopGraceMs: number
  readonly receiptRetentionMs: number
  /** How long a settled Turn's result, response and error text stay readable; `null` keeps them. */
  readonly payloadRetentionMs: number | null
}

export interface Given {
  readonly now: number
  readonly newId: NewId
  readonly settings: Settings
  /** Identity of a text: what a receipt keeps of a request. */
  readonly digest: (text: string) => string
  /** Nobody without this control plane's key can make the seal of a text. */
  readonly seal: (text: string) => string
  /** Constant time. */
  readonly isSealOf: (text: string, seal: string) => boolean
}
