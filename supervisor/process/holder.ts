/**
 * A process that does nothing but hold a descriptor: a shell that waits on a pipe of this supervisor's and, once that has
 * ended, sleeps for a bounded time in which another supervisor may come for the descriptor.
 */
import type { ComputerId } from "@computerd/protocol/ids"
import { computerMarker, recorderMarker } from "./environment.ts"
import type { ProcessStamp } from "./identity.ts"
import { stampOf } from "./procfs.ts"

export interface Holder {
  readonly stamp: ProcessStamp
  readonly kill: () => void
  /** It is left to itself, as if this supervisor had ended. */
  readonly leave: () => void
}

export interface HolderRequest {
  readonly computerId: ComputerId
  readonly bootId: string
  readonly descriptor: number
  readonly ended: () => void
}

/** Where the holder has what it holds. */
export const heldAs = 3
/** After the end of its supervisor. */
const staySeconds = 24 * 60 * 60
const script = `read -r _; exec sleep ${staySeconds}`

const variables = (computerId: ComputerId): Record<string, string> =>
  Object.fromEntries([
    ["PATH", "/usr/bin:/bin"],
    ...[computerMarker(computerId), recorderMarker].map((entry) => entry.split("=", 2)),
  ])

/** Throws when it cannot be started. */
export const startHolder = ({ computerId, bootId, descriptor, ended }: HolderRequest): Holder => {
  const child = Bun.spawn(["/bin/sh", "-c", script, "computerd-exit-recorder"], {
    cwd: "/",
    env: variables(computerId),
    stdio: ["pipe", "ignore", "ignore", descriptor],
    detached: true,
    onExit: ended,
  })
  child.unref()
  const stamp = stampOf(child.pid, bootId) ?? { pid: child.pid, startTime: "unknown", bootId }
  return {
    stamp,
    kill: () => child.kill("SIGKILL"),
    leave: () => void child.stdin.end(),
  }
}
