import {
  delegationDepthDefault,
  leaseMs,
  leaseRenewMs,
  receiptRetentionMs,
  stopGraceMs,
} from "@computerd/protocol/limits"
import type { Settings } from "../rules/given.ts"

/** What holds where nobody chose otherwise: as many Computers as there is work, payloads kept. */
export const defaultSettings: Settings = {
  environments: () => ({ delegationDepthMax: delegationDepthDefault, runningComputersMax: null }),
  leaseMs,
  leaseRenewMs,
  stopGraceMs,
  receiptRetentionMs,
  payloadRetentionMs: null,
}
