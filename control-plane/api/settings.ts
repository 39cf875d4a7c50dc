/** Bounds of the public API. Those of pages and waits may be lower than what the schemas allow, not higher. */
import {
  apiBodyMaxBytes,
  apiHeartbeatMs,
  apiOpenRequestsMax,
  apiPageMax,
  apiRequestsPerSecond,
  apiUploadEntriesMax,
  apiUploadMaxBytes,
  apiWaitMaxMs,
} from "@computerd/protocol/api/limits"

export interface ApiSettings {
  /** Of a JSON body. */
  readonly bodyMaxBytes: number
  /** Of an uploaded archive. */
  readonly uploadMaxBytes: number
  /** Of everything in an archive together. */
  readonly unpackedMaxBytes: number
  readonly archiveEntriesMax: number
  readonly urlMaxBytes: number
  readonly pageMax: number
  readonly waitMaxMs: number
  /** Of one key; as many may come at once. */
  readonly requestsPerSecond: number
  /** Event streams and waits of one key. */
  readonly openRequestsMax: number
  readonly heartbeatMs: number
}

export const defaultApiSettings: ApiSettings = {
  bodyMaxBytes: apiBodyMaxBytes,
  uploadMaxBytes: apiUploadMaxBytes,
  unpackedMaxBytes: 4 * apiUploadMaxBytes,
  archiveEntriesMax: apiUploadEntriesMax,
  urlMaxBytes: 8192,
  pageMax: apiPageMax,
  waitMaxMs: apiWaitMaxMs,
  requestsPerSecond: apiRequestsPerSecond,
  openRequestsMax: apiOpenRequestsMax,
  heartbeatMs: apiHeartbeatMs,
}
