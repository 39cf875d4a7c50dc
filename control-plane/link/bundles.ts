/**
 * Bundle download for supervisors: only what a Session of the asking Computer pins. Another digest and one that does
 * not exist get the same answer.
 */
import type { ComputerId, Digest } from "@computerd/protocol/ids"
import type { ContentStore } from "../publication/content/store.ts"
import type { Receiver } from "../receiver/receiver.ts"

export interface BundleDeps {
  readonly receiver: Pick<Receiver, "computers" | "snapshot" | "deployment">
  readonly content: Pick<ContentStore, "bundleFile">
}

const isPinned = (digest: Digest, computerId: ComputerId, { receiver }: BundleDeps): boolean => {
  const own = receiver.computers().find((computer) => computer.id === computerId)
  if (own === undefined || own.status !== "available") return false
  if (own.bundle === digest) return true
  return receiver
    .snapshot()
    .sessions.some(
      (session) =>
        session.computerId === computerId && receiver.deployment(session.deploymentId)?.bundle === digest,
    )
}

export const bundleResponse = async (
  digest: Digest,
  computerId: ComputerId,
  deps: BundleDeps,
): Promise<Response> => {
  const file = Bun.file(deps.content.bundleFile(digest))
  if (!isPinned(digest, computerId, deps) || !(await file.exists()))
    return new Response("no such bundle\n", { status: 404 })
  return new Response(file, { headers: { "Content-Type": "application/x-tar" } })
}
