/**
 * Takes the next step of one Session: looks at what is stored and what runs, and does what `step.ts` says. A step
 * that the store refuses is tried again until the store recovers.
 */
import type { SessionId } from "@computerd/protocol/ids"
import type { LinkEvent } from "@computerd/protocol/link"
import type { Reach } from "../crash-points.ts"
import type { Journal } from "../journal.ts"
import type { Timers } from "../ports.ts"
import type { Store } from "../store/open.ts"
import type { SessionRow } from "../store/sessions.ts"
import type { Backoff } from "./backoff.ts"
import { forgetSession } from "./exit.ts"
import type { Runs } from "./runs.ts"
import { nextStep, type StepFacts } from "./step.ts"
import type { Turns } from "./turns.ts"

export interface DriveDeps {
  readonly timers: Timers
  readonly reach: Reach
  readonly journal: Journal
  readonly store: Store
  readonly runs: Runs
  readonly backoff: Pick<Backoff, "isWaiting">
  readonly turns: Turns
  readonly emit: (event: LinkEvent) => void
  readonly supervisor: () => StepFacts["supervisor"]
  readonly flush: (sessionId: SessionId) => void
  readonly forgotten: (sessionId: SessionId) => void
}

const retryMs = 1000

export const createDrive = (deps: DriveDeps): ((sessionId: SessionId) => void) => {
  const { store, runs, journal, reach } = deps

  /** On disk before the process has it: after a power cut it is a Turn that may have run, and is not run again. */
  const giveTurn = (row: SessionRow): void => {
    const { sessionId, turn } = row
    if (turn === undefined) return
    store.synced(() => {
      deps.turns.give(row)
      reach("turn.before_commit")
    })
    reach("turn.after_commit")
    runs.get(sessionId)?.handle({ kind: "turn_given", turnId: turn.data.id })
    deps.flush(sessionId)
  }

  const forget = (sessionId: SessionId): void => {
    store.transaction(() => {
      forgetSession({ store, emit: deps.emit }, sessionId)
      reach("release.before_commit")
    })
    reach("release.after_commit")
    journal.record({ event: "session_released", sessionId })
    deps.forgotten(sessionId)
  }

  const step = (row: SessionRow): void => {
    const { sessionId } = row
    const run = runs.get(sessionId)
    const next = nextStep({
      row,
      process: run?.state.kind ?? "none",
      backoff: deps.backoff.isWaiting(row) ? "waiting" : "over",
      supervisor: deps.supervisor(),
    })
    switch (next.do) {
      case "nothing":
        deps.flush(sessionId)
        break
      case "start":
        runs.start(row)
        break
      case "give_turn":
        giveTurn(row)
        break
      case "end":
        run?.end({ kind: "shutdown" }, next.graceMs)
        break
      case "forget":
        forget(sessionId)
        break
      default:
        next satisfies never
    }
  }

  const drive = (sessionId: SessionId): void => {
    try {
      const row = store.sessions.get(sessionId)
      if (row !== undefined) step(row)
    } catch (error) {
      const message = error instanceof Error ? error.message : String(error)
      journal.record({ event: "store_write_failed", during: "next step", message })
      if (deps.supervisor() !== "ending") deps.timers.after(retryMs, () => drive(sessionId))
    }
  }
  return drive
}
