/**
 * What an earlier supervisor left on this Computer. Every process on record becomes a run again: one that lives goes
 * on (RA1, RA2), one that is gone or cannot come back is ended for certain, reported and replaced. Nothing is started
 * before the control plane has said what must run. This is the one place that decides what becomes of them.
 */
import type { ExitReason } from "@computerd/protocol/link"
import type { Journal } from "../journal.ts"
import type { Timers } from "../ports.ts"
import type { ProcessStamp } from "../process/identity.ts"
import type { ProcessState, StopCause } from "../process/machine.ts"
import { asStopCause } from "../process/machine.ts"
import { explainUnwatched } from "../process/memory.ts"
import { lives, readBootId } from "../process/procfs.ts"
import { type Inheritance, inheritance } from "../process/reattach.ts"
import type { ExitRecorder } from "../process/recorder.ts"
import { statusOfDead, watchProcess } from "../process/watch.ts"
import type { Store } from "../store/open.ts"
import type { ProcessRow } from "../store/processes.ts"
import type { SessionRow } from "../store/sessions.ts"
import type { Origin } from "./run.ts"
import type { Runs } from "./runs.ts"

export interface InheritDeps {
  readonly timers: Timers
  readonly journal: Journal
  readonly store: Store
  readonly runs: Runs
  readonly recorder: Pick<ExitRecorder, "exitOf">
  readonly port: { readonly told: number | undefined; readonly bound: number }
  /** Within which a process that lives must have connected. */
  readonly reattachMs: number
}

type Inherited = Extract<Origin, { readonly kind: "inherited" }>

export const stampOfRow = ({ pid, startTime, bootId }: ProcessRow): ProcessStamp | undefined =>
  pid === undefined || startTime === undefined ? undefined : { pid, startTime, bootId }

const givenTurn = ({ turn }: SessionRow) => (turn?.phase === "sent" ? { turnId: turn.data.id } : {})

const stateOf = (row: ProcessRow, session: SessionRow, cause: StopCause | undefined): Inherited["state"] => {
  const given = givenTurn(session)
  if (cause !== undefined) return { kind: "stopping", cause, ...given }
  if ("turnId" in given) return { kind: "running", turnId: given.turnId }
  return { kind: row.phase } satisfies ProcessState
}

/** How a process ended that nobody saw end: what was kept of it, or what the process table still says. */
const seenOf = ({ recorder }: InheritDeps, row: ProcessRow): ExitReason | undefined => {
  const stamp = stampOfRow(row)
  const seen = stamp && (recorder.exitOf(stamp) ?? statusOfDead(stamp))
  return seen && explainUnwatched(seen, row.cgroup)
}

const conditionOf = (stamp: ProcessStamp | undefined): "lives" | "gone" | "unknown" => {
  if (stamp === undefined) return "unknown"
  return lives(stamp) ? "lives" : "gone"
}

const outcomeText = (decision: Inheritance): string => {
  if (decision.do === "adopt") return "it lives and is taken over"
  return "message" in decision.reason ? decision.reason.message : `it is gone: ${decision.reason.kind}`
}

const inheritOne = (deps: InheritDeps, row: ProcessRow, session: SessionRow): void => {
  const { timers, journal, runs, reattachMs } = deps
  const stamp = stampOfRow(row)
  const condition = conditionOf(stamp)
  const decision = inheritance({
    process: condition,
    boot: row.bootId === readBootId() ? "same" : "another",
    port: deps.port,
    known: row.stop?.cause ?? seenOf(deps, row),
  })
  const outcome = outcomeText(decision)
  const { sessionId, generation } = row
  journal.record({ event: "inherited_process", sessionId, generation, pid: row.pid ?? 0, outcome })
  const common = { kind: "inherited", stamp, graceMs: row.stop?.graceMs ?? 0, reattachMs } as const
  if (condition === "lives" && stamp !== undefined) {
    const cause = decision.do === "adopt" ? row.stop?.cause : asStopCause(decision.reason)
    const watch = watchProcess({
      timers,
      stamp,
      cgroup: row.cgroup,
      recorded: (process) => deps.recorder.exitOf(process),
    })
    const blame = decision.do === "adopt" ? "program" : decision.blame
    runs.adopt(session, row, { ...common, ...watch, blame, state: stateOf(row, session, cause) })
  } else if (decision.do === "replace") {
    const exited = Promise.resolve(decision.reason)
    const state = stateOf(row, session, row.stop?.cause)
    const { blame } = decision
    runs.adopt(session, row, { ...common, look: () => undefined, exited, blame, state, isGone: true })
  }
}

/** Synchronous: a process may come back as soon as the channel is looked at again. */
export const inheritProcesses = (deps: InheritDeps): void => {
  for (const row of deps.store.processes.all()) {
    const session = deps.store.sessions.get(row.sessionId)
    if (session !== undefined) inheritOne(deps, row, session)
  }
}
