/**
 * The operator socket's address. The kernel takes at most 107 bytes, and a state directory may be deeper than that; its
 * folder is then reached through an open descriptor, which has a short name.
 */
import { closeSync, openSync } from "node:fs"
import { basename, dirname } from "node:path"
import { utf8Bytes } from "@computerd/protocol/content"

const addressMaxBytes = 107

export interface SocketAddress {
  readonly path: string
  /** The address is not needed any more; a bound socket stays bound. */
  readonly release: () => void
}

/** Throws when the folder does not exist. */
export const socketAddress = (path: string): SocketAddress => {
  if (utf8Bytes(path) <= addressMaxBytes) return { path, release: () => undefined }
  const folder = openSync(dirname(path), "r")
  return { path: `/proc/self/fd/${folder}/${basename(path)}`, release: () => closeSync(folder) }
}
