/** Takes an uploaded archive to a file, within its bound, and says what it is. */
import { createHash } from "node:crypto"
import { open } from "node:fs/promises"
import { fail, ok, type Result } from "@computerd/protocol/errors"
import { boundedChunks } from "../body.ts"

/** SHA-256 of what was received. */
export const receiveArchive = async (
  request: Request,
  target: { readonly file: string; readonly maxBytes: number },
): Promise<Result<string>> => {
  const hash = createHash("sha256")
  const file = await open(target.file, "wx", 0o600)
  try {
    for await (const chunk of boundedChunks(request, target.maxBytes)) {
      if (!chunk.ok) return chunk
      hash.update(chunk.value)
      await file.writeFile(chunk.value)
    }
  } catch {
    return fail("invalid_arguments", "the upload ended before it was whole; send it again")
  } finally {
    await file.close()
  }
  return ok(hash.digest("hex"))
}
