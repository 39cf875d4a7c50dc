/** Waits for the first Turn, as long as it takes, unless it cannot run: then nobody is there to help it. */
import type { ControlPlane } from "@computerd/control-plane/control-plane"
import { pendingReason } from "@computerd/control-plane/drivers/local/honour"
import { fail, ok, type Result } from "@computerd/protocol/errors"
import type { SessionId, TurnId } from "@computerd/protocol/ids"
import type { Ports } from "../ports.ts"
import type { ComputerRow, FleetSnapshot, TurnView } from "./view/fleet.ts"

/** One wait; in between it looks at the Session and its Computer. */
const waitMs = 500
/** A Computer that cannot be made may be made at a later attempt, for this long. */
const unavailableMaxMs = 10_000

export interface Started {
  readonly sessionId: SessionId
  readonly turnId: TurnId
}

/** Only a person can release a recovery hold. */
const whyHeld = ({ sessions }: FleetSnapshot, { sessionId, turnId }: Started): string | undefined => {
  const session = sessions.find(({ id }) => id === sessionId)
  // A Turn that settled meanwhile has an answer of its own.
  if (session?.turns.find(({ id }) => id === turnId)?.status !== "queued") return undefined
  const hold = session.holds.find(({ kind }) => kind === "recovery")
  return hold === undefined ? undefined : (hold.reason ?? "its process was lost")
}

const computerOf = (
  { computers, sessions }: FleetSnapshot,
  sessionId: SessionId,
): ComputerRow | undefined => {
  const session = sessions.find(({ id }) => id === sessionId)
  return computers.find(({ id }) => id === session?.computerId)
}

const whyUnavailable = (computer: ComputerRow | undefined): string | undefined =>
  computer?.residency === "unavailable" ? (computer.error ?? "for no known reason") : undefined

export interface WaitDeps {
  readonly ports: Pick<Ports, "now">
  readonly unenforced: boolean
  readonly signal: AbortSignal
}

/** Rejects when `signal` aborts. */
export const waitForTurn = async (
  controlPlane: Pick<ControlPlane, "waitTurn" | "snapshot">,
  started: Started,
  { ports, unenforced, signal }: WaitDeps,
): Promise<Result<TurnView>> => {
  const own = computerOf(controlPlane.snapshot(), started.sessionId)
  const never = own && pendingReason(own.manifest, unenforced)
  if (never !== undefined) return fail("template_unsupported", never)
  let since: number | undefined
  for (;;) {
    const turn = await controlPlane.waitTurn(started.sessionId, started.turnId, waitMs, signal)
    signal.throwIfAborted()
    if (turn !== "timeout") return ok(turn)
    const snapshot = controlPlane.snapshot()
    const held = whyHeld(snapshot, started)
    if (held !== undefined) return fail("session_held", `the Session is held for recovery: ${held}`)
    const reason = whyUnavailable(computerOf(snapshot, started.sessionId))
    since = reason === undefined ? undefined : (since ?? ports.now())
    if (reason !== undefined && since !== undefined && ports.now() - since >= unavailableMaxMs)
      return fail("internal", `the Session has no Computer to run on: ${reason}`)
  }
}
