/** The bound on commands that a supervisor has not acknowledged. */
import { fail, ok, type Result } from "@computerd/protocol/errors"
import { unacknowledgedFramesMax } from "@computerd/protocol/limits"
import type { Computer } from "./entities.ts"

/** Kept free for what must always fit: holds, stops, dispatches and releases of work that was admitted. */
const reservedFrames = 1_000

export const hasCommandRoom = (computer: Computer | undefined): Result<void> => {
  const pending = computer === undefined ? 0 : computer.commandSeq - computer.commandAck
  if (computer === undefined || !computer.attached || pending < unacknowledgedFramesMax - reservedFrames)
    return ok(undefined)
  return fail(
    "admission_unavailable",
    "the target's Computer has too many unacknowledged commands; retry with the same idempotencyKey",
  )
}
