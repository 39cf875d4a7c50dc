/** The kernel takes at most 107 bytes of a socket's address; a deeper one is reached through its open directory. */
import { closeSync, openSync } from "node:fs"
import { basename, dirname } from "node:path"
import { utf8Bytes } from "@computerd/protocol/content"

const addressMaxBytes = 107

export interface SocketAddress {
  readonly path: string
  /** The address is not needed any more; a bound or connected socket stays what it is. */
  readonly release: () => void
}

/** Throws when the directory does not exist. */
export const socketAddress = (path: string): SocketAddress => {
  if (utf8Bytes(path) <= addressMaxBytes) return { path, release: () => undefined }
  const directory = openSync(dirname(path), "r")
  return { path: `/proc/self/fd/${directory}/${basename(path)}`, release: () => closeSync(directory) }
}
