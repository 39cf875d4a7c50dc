/**
 * Whether a Session process may use its descriptors now. Asked anew by each getter call and each request: an equal
 * policy never skips it.
 *
 * AU1 the process's generation is the current one and has not been asked to end
 * AU2 this supervisor holds the lease of its Computer
 * AU3 a hold stops requests; the getter works under a hold, since `init` may run when one lands
 */
import { fail, ok, type Result } from "@computerd/protocol/errors"
import type { SessionAssignment } from "@computerd/protocol/link"
import type { LeaseState } from "../link/lease.ts"
import type { ProcessIdentity, SessionView } from "../session/sessions.ts"

export type RequestAdmission = "open" | "held" | "shutting_down" | "no_lease"

const lives = (process: ProcessIdentity, view: SessionView | undefined): view is SessionView =>
  view !== undefined &&
  view.generation === process.generation &&
  view.state !== "exited" &&
  !view.shuttingDown

/** For the getter; the lease is awaited separately, because an outage should not fail `init`. */
export const processAuthority = (
  process: ProcessIdentity,
  view: SessionView | undefined,
): Result<SessionAssignment> =>
  lives(process, view)
    ? ok(view.assignment)
    : fail("session_shutdown", "this process is ending or was replaced; ask again from the next one")

/** For one request. */
export const requestAdmission = (
  process: ProcessIdentity,
  view: SessionView | undefined,
  lease: LeaseState,
): RequestAdmission => {
  if (!lives(process, view)) return "shutting_down"
  if (lease.state !== "held") return "no_lease"
  return view.held ? "held" : "open"
}
