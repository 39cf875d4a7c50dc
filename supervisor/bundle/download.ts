/** Fetches one bundle archive into a file and proves that it is the one that was named. */
import { open } from "node:fs/promises"
import { type Failure, fail, failure, ok, type Result } from "@computerd/protocol/errors"
import type { Digest } from "@computerd/protocol/ids"
import { bundlePath } from "@computerd/protocol/link"

export interface DownloadSource {
  readonly controlPlaneUrl: string
  /** Read for each request, since it may be renewed. */
  readonly credential: () => string
  readonly attemptTimeoutMs: number
}

/** `final`: another attempt would end the same way. */
export type DownloadFailure = Failure & { readonly final: boolean }

/** Large enough for packages with native binaries, small enough not to fill a disk. */
const archiveMaxBytes = 1024 * 1024 * 1024

const refused = (error: Failure, final: boolean): Result<never, DownloadFailure> => ({
  ok: false,
  error: { ...error, final },
})

const statusFailure = (digest: Digest, status: number): Result<never, DownloadFailure> => {
  if (status === 401 || status === 403)
    return refused(failure("unauthorized", "the control plane refuses this Computer's credential"), true)
  if (status === 404)
    return refused(
      failure("not_found", `the control plane has no bundle ${digest}: publish the program again`),
      true,
    )
  return refused(failure("bundle_failed", `the control plane answered ${status} for bundle ${digest}`), false)
}

/** Writes the body and answers with its digest. */
const receive = async (body: ReadableStream<Uint8Array>, file: string): Promise<Result<string>> => {
  const hash = new Bun.CryptoHasher("sha256")
  const target = await open(file, "wx", 0o600)
  let bytes = 0
  try {
    for await (const chunk of body) {
      bytes += chunk.length
      if (bytes > archiveMaxBytes)
        return fail(
          "bundle_failed",
          `the bundle is larger than ${archiveMaxBytes} bytes: publish a smaller one`,
        )
      hash.update(chunk)
      await target.writeFile(chunk)
    }
  } finally {
    await target.close()
  }
  return ok(hash.digest("hex"))
}

export const download = async (
  source: DownloadSource,
  digest: Digest,
  file: string,
): Promise<Result<void, DownloadFailure>> => {
  try {
    const response = await fetch(new URL(bundlePath(digest), source.controlPlaneUrl), {
      headers: { Authorization: `Bearer ${source.credential()}` },
      signal: AbortSignal.timeout(source.attemptTimeoutMs),
      redirect: "error",
      keepalive: false,
    })
    if (!response.ok || response.body === null) return statusFailure(digest, response.status)
    const received = await receive(response.body, file)
    if (!received.ok) return refused(received.error, true)
    return received.value === digest
      ? ok(undefined)
      : refused(failure("bundle_failed", `what came for bundle ${digest} has another digest`), false)
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error)
    return refused(failure("bundle_failed", `bundle ${digest} cannot be fetched: ${message}`), false)
  }
}
