/** What onlookers read, and their waits. */
import { CodedError, failure } from "@computerd/protocol/errors"
import type { Parts } from "./parts.ts"
import type { Receiver } from "./receiver.ts"
import { fleetSnapshot, viewTurn } from "./snapshot.ts"

export const views = ({ store, ports, waits }: Parts): Pick<Receiver, "snapshot" | "turn" | "waitTurn"> => ({
  snapshot: () => fleetSnapshot(store, ports.now()),
  turn: (sessionId, turnId) => viewTurn(store, sessionId, turnId),
  waitTurn: async (sessionId, turnId, timeoutMs, signal) => {
    const deadline = ports.runningMs() + timeoutMs
    for (;;) {
      const turn = viewTurn(store, sessionId, turnId)
      if (turn === undefined)
        throw new CodedError(failure("not_found", `Session ${sessionId} has no Turn ${turnId}`))
      if (turn.settledAtMs !== null) return turn
      const how = await waits.wait(turnId, Math.max(deadline - ports.runningMs(), 0), signal)
      if (how === "timeout") return "timeout"
      if (how === "aborted") throw signal.reason
      if (how === "closed")
        throw new CodedError(failure("admission_unavailable", "the control plane is stopping; wait again"))
    }
  },
})
