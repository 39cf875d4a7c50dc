/** What the public API promises by default; an installation may set others. */

/** Of a JSON body. */
export const apiBodyMaxBytes = 1_048_576
/** Of an uploaded program, as an archive. */
export const apiUploadMaxBytes = 64 * 1_048_576
/** Files and directories in it. */
export const apiUploadEntriesMax = 20_000
export const apiPageDefault = 50
export const apiPageMax = 100
/** One request waits no longer; a client that wants to goes on asking. */
export const apiWaitMaxMs = 60_000
export const apiRequestsPerSecond = 100
/** Event streams and waits that one key has open at once. */
export const apiOpenRequestsMax = 256
/** Between two signs of life on a silent event stream. */
export const apiHeartbeatMs = 15_000
/** What the control plane keeps of one Turn's output, as UTF-8. */
export const turnOutputMaxBytes = 1_048_576
