/** Waits for the first Turn, as long as it takes, unless it cannot run: then nobody is there to help it. */
import type { ControlPlane } from "@computerd/control-plane/control-plane"
import { fail, ok, type Result } from "@computerd/protocol/errors"
import type { SessionId, TurnId } from "@computerd/protocol/ids"
import type { Ports } from "../ports.ts"
import type { FleetSnapshot, TurnView } from "./view/fleet.ts"

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

const whyUnavailable = ({ computers, sessions }: FleetSnapshot, sessionId: SessionId): string | undefined => {
  const session = sessions.find(({ id }) => id === sessionId)
  const computer = computers.find(({ id }) => id === session?.computerId)
  return computer?.residency === "unavailable" ? (computer.error ?? "for no known reason") : undefined
}

/** Rejects when `signal` aborts. */
export const waitForTurn = async (
  controlPlane: Pick<ControlPlane, "waitTurn" | "snapshot">,
  started: Started,
  { ports, signal }: { readonly ports: Pick<Ports, "now">; readonly signal: AbortSignal },
): Promise<Result<TurnView>> => {
  let since: number | undefined
  for (;;) {
    const turn = await controlPlane.waitTurn(started.sessionId, started.turnId, waitMs, signal)
    signal.throwIfAborted()
    if (turn !== "timeout") return ok(turn)
    const snapshot = controlPlane.snapshot()
    const held = whyHeld(snapshot, started)
    if (held !== undefined) return fail("process_lost", `the Session is held for recovery: ${held}`)
    const reason = whyUnavailable(snapshot, started.sessionId)
    since = reason === undefined ? undefined : (since ?? ports.now())
    if (reason !== undefined && since !== undefined && ports.now() - since >= unavailableMaxMs)
      return fail("internal", `the Session has no Computer to run on: ${reason}`)
  }
}
