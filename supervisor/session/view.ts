/** What others see of a Session: its row, and the state of its process where it has one. */
import type { LivingProcess } from "@computerd/protocol/link"
import type { SessionState } from "@computerd/protocol/operator"
import { holding } from "../process/machine.ts"
import type { SessionRow } from "../store/sessions.ts"
import type { Run } from "./run.ts"
import type { SessionView } from "./sessions.ts"

const stateOf = (row: SessionRow, run: Run | undefined): SessionState => {
  if (run !== undefined) return run.state.kind
  return row.lastExit === undefined ? "assigned" : "exited"
}

export const viewOf = (
  row: SessionRow,
  run: Run | undefined,
  supervisor: "serving" | "ending",
): SessionView => {
  const state = stateOf(row, run)
  const isGiven = row.turn?.phase === "sent"
  return {
    sessionId: row.sessionId,
    assignment: row.assignment,
    state,
    generation: row.generation,
    pid: run?.pid,
    turn: isGiven && row.turn ? { id: row.turn.data.id, startedAtMs: row.turn.atMs } : undefined,
    held: holding(row.assignment.holds).kind === "held",
    shuttingDown: supervisor === "ending" || state === "stopping",
    lastExit: row.lastExit,
  }
}

export const livingProcesses = (runs: readonly Run[]): readonly LivingProcess[] =>
  runs.flatMap((run): LivingProcess[] => {
    const state = run.state
    if (run.isGone || state.kind === "exited") return []
    const turn = "turnId" in state && state.turnId !== undefined ? { turnId: state.turnId } : {}
    return [{ ...run.identity, state: state.kind, ...turn }]
  })
