/** Published bundles on this Computer, unpacked once for each digest. */
import type { Result } from "@computerd/protocol/errors"
import type { Digest } from "@computerd/protocol/ids"

export interface Bundles {
  /** Absolute path of the unpacked bundle's `index.js`. */
  readonly path: (digest: Digest) => Promise<Result<string>>
}
