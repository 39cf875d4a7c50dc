/**
 * Publication of an uploaded program: received, unpacked, published; what is left of the upload is removed in every case.
 * The same upload under the same key is answered from its receipt, before and after the work.
 */
import { mkdir } from "node:fs/promises"
import { join } from "node:path"
import { deploymentRoutes, type PublishedDeployment } from "@computerd/protocol/api/deployments"
import { fail, ok, type Result } from "@computerd/protocol/errors"
import type { ContentStore } from "../../publication/content/store.ts"
import type { Publish } from "../../publisher.ts"
import type { KeyHolder } from "../../receiver/keys.ts"
import { type ApiParts, type Call, type RawCall, revoked, type Served, special } from "../call.ts"
import { refusal } from "../refusal.ts"
import { receiveArchive } from "../upload/receive.ts"
import { unpackProgram } from "../upload/unpack.ts"

export interface PublishParts extends ApiParts {
  readonly content: Pick<ContentStore, "stage" | "discard">
  readonly publish: Publish
}

interface Uploaded {
  readonly holder: KeyHolder
  readonly staged: string
  readonly archiveFile: string
  readonly upload: { readonly idempotencyKey: string; readonly archive: string }
}

const publishUnpacked = async (
  { holder, staged, archiveFile, upload }: Uploaded,
  raw: RawCall,
  parts: PublishParts,
): Promise<Result<PublishedDeployment>> => {
  const { mutate } = parts.receiver.outside
  const program = join(staged, "program")
  await mkdir(program, { mode: 0o700 })
  const unpacked = await unpackProgram(archiveFile, program, parts.settings)
  if (!unpacked.ok) return unpacked
  return parts.publish(program, {
    environment: holder.environment,
    signal: raw.request.signal,
    confined: true,
    // The key may have been revoked while the program was read.
    add: async (published) =>
      raw.isLive() ? mutate.publish(holder.environment, upload, published) : revoked,
  })
}

const publishUpload = async (
  { holder, query }: Call<typeof deploymentRoutes.publish>,
  raw: RawCall,
  { staged, parts }: { readonly staged: string; readonly parts: PublishParts },
): Promise<Result<PublishedDeployment>> => {
  const archiveFile = join(staged, "upload.tar")
  const { uploadMaxBytes: maxBytes } = parts.settings
  const archive = await receiveArchive(raw.request, { file: archiveFile, maxBytes })
  if (!archive.ok) return archive
  if (!raw.isLive()) return revoked
  const upload = { idempotencyKey: query.idempotencyKey, archive: archive.value }
  const earlier = parts.receiver.outside.mutate.earlierPublication(holder.environment, upload)
  if (!earlier.ok) return earlier
  if (earlier.value !== undefined) return ok(earlier.value)
  return publishUnpacked({ holder, staged, archiveFile, upload }, raw, parts)
}

export const publishCall = (parts: PublishParts): Served =>
  special(deploymentRoutes.publish, async (call, raw) => {
    if (raw.request.headers.get("content-type") !== "application/x-tar") {
      const error = fail("invalid_arguments", "a program is sent as application/x-tar", "content-type")
      return refusal(error.error)
    }
    const staged = await parts.content.stage()
    try {
      const published = await publishUpload(call, raw, { staged, parts })
      const { status } = deploymentRoutes.publish.answer
      return published.ok ? Response.json(published.value, { status }) : refusal(published.error)
    } finally {
      await parts.content.discard(staged)
    }
  })
