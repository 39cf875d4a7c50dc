/**
 * Stands for `supervisor/session` and the processes below it: keeps what must run in the supervisor's own store, and
 * lets Turns start, speak and end as time goes by. Every event goes to the real outbox in the transaction of the change
 * that it reports, and beside it into a history from which the checks read what must arrive.
 */
import type { Database } from "bun:sqlite"
import type { SessionId, TurnId } from "@computerd/protocol/ids"
import { Generation } from "@computerd/protocol/ids"
import type { LinkCommand, LinkEvent, LivingProcess, SessionAssignment } from "@computerd/protocol/link"
import type { LinkSessions } from "@computerd/supervisor/link/link"
import type { Store } from "@computerd/supervisor/store/open"
import type { Random } from "./random.ts"
import type { Cancel } from "./time.ts"

export const sessionsSchema = `
CREATE TABLE sim_sessions (
  session_id TEXT PRIMARY KEY, generation INTEGER NOT NULL, process TEXT NOT NULL, held INTEGER NOT NULL,
  ending INTEGER NOT NULL, turn TEXT, phase TEXT NOT NULL, cancel TEXT, finished TEXT, said INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE TABLE sim_history (n INTEGER PRIMARY KEY AUTOINCREMENT, body TEXT NOT NULL) STRICT;
CREATE TABLE sim_cursor (id INTEGER PRIMARY KEY, received INTEGER NOT NULL) STRICT;
INSERT INTO sim_cursor VALUES (1, 0);
`

export interface SimSession {
  readonly session_id: SessionId
  readonly generation: number
  readonly process: "none" | "starting" | "ready"
  readonly held: number
  readonly ending: number
  readonly turn: TurnId | null
  readonly phase: "none" | "waiting" | "running"
  readonly cancel: "interrupted" | "cancelled" | null
  readonly finished: TurnId | null
  /** Pieces of output of the running Turn. */
  readonly said: number
}

export interface SimSessions extends LinkSessions {
  /** The lease is held again, or the supervisor has just started. */
  readonly wake: () => void
  readonly all: () => readonly SimSession[]
  /** Everything that ran here is gone with the machine. */
  readonly loseProcesses: () => void
  /** One process dies by itself. */
  readonly killOne: (which: number) => void
  /** Says many lines at once. */
  readonly shout: (which: number, lines: number) => void
  readonly close: () => void
}

export interface SimSessionsDeps {
  readonly store: Store
  readonly random: Random
  readonly after: (delayMs: number, run: () => void) => Cancel
  readonly hasLease: () => boolean
  readonly push: (event: LinkEvent) => void
  readonly received: () => number
  /** A command or the whole desired state was taken over, under this number. */
  readonly applied: (seq: number, command: LinkCommand | undefined) => void
  /** The supervisor is about to tell how far it is. */
  readonly telling: (seq: number) => void
}

const saidMax = 3
const stepMs = [20, 3_000] as const

export const historyOf = (database: Database): readonly string[] =>
  database
    .query<{ body: string }, []>("SELECT body FROM sim_history ORDER BY n")
    .all()
    .map(({ body }) => body)

export const sessionsOf = (database: Database): readonly SimSession[] =>
  database.query<SimSession, []>("SELECT * FROM sim_sessions ORDER BY session_id").all()

export const createSimSessions = (deps: SimSessionsDeps): SimSessions => {
  const { store, random, push } = deps
  const { database } = store
  const one = database.query<SimSession, [string]>("SELECT * FROM sim_sessions WHERE session_id = ?")
  const insert = database.query("INSERT OR REPLACE INTO sim_sessions VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)")
  const remove = database.query("DELETE FROM sim_sessions WHERE session_id = ?")
  const history = database.query("INSERT INTO sim_history (body) VALUES (?)")
  const scheduled = new Map<SessionId, Cancel>()
  let closed = false

  const get = (sessionId: SessionId): SimSession | undefined => one.get(sessionId) ?? undefined
  const all = (): readonly SimSession[] => sessionsOf(database)

  const put = (row: SimSession): void => {
    const { session_id, generation, process, held, ending, turn, phase, cancel, finished, said } = row
    insert.run(session_id, generation, process, held, ending, turn, phase, cancel, finished, said)
    store.afterCommit(() => schedule(session_id))
  }

  const emit = (event: LinkEvent): void => {
    history.run(JSON.stringify(event))
    push(event)
  }

  const schedule = (sessionId: SessionId): void => {
    if (closed || scheduled.has(sessionId)) return
    const run = (): void => {
      scheduled.delete(sessionId)
      const row = get(sessionId)
      if (row !== undefined) step(row)
    }
    scheduled.set(sessionId, deps.after(random.int(...stepMs), run))
  }

  /** A full disk keeps it from being written: it is tried again. */
  const write = (
    sessionId: SessionId,
    work: () => void,
    how: "transaction" | "synced" = "transaction",
  ): void => {
    try {
      store[how](work)
    } catch {
      schedule(sessionId)
    }
  }

  const processOf = (row: SimSession) => ({
    sessionId: row.session_id,
    generation: Generation.parse(row.generation),
  })

  /** What had not been given to the process goes back to the control plane. */
  const withoutProcess = (row: SimSession): SimSession => ({
    ...row,
    ...{ process: "none", turn: null, phase: "none", cancel: null, said: 0 },
    finished: row.phase === "running" ? row.turn : row.finished,
  })

  const exit = (row: SimSession, how: "asked" | "died" | "lost"): void => {
    if (row.process === "none") return
    const lost = row.phase === "running" && row.turn !== null
    emit({
      type: "process_exited",
      ...processOf(row),
      reason:
        how === "asked"
          ? { kind: "shutdown" }
          : how === "died"
            ? { kind: "signal", signal: "SIGKILL" }
            : { kind: "unknown", message: "the machine was started anew" },
      ...(lost ? { turnId: row.turn } : {}),
      expected: how === "asked",
      ...(how === "asked" ? {} : { next: lost ? "after_release" : "restart" }),
    } as LinkEvent)
  }

  const settle = (row: SimSession, turnId: TurnId): void => {
    emit({
      type: "turn_settled",
      ...processOf(row),
      turnId,
      outcome:
        row.cancel === null
          ? { status: "completed", result: turnId }
          : { status: row.cancel, error: { code: row.cancel, message: "it was asked to stop" } },
    } as LinkEvent)
    put({ ...row, turn: null, phase: "none", cancel: null, finished: turnId, said: 0 })
  }

  const say = (row: SimSession, turnId: TurnId): void => {
    emit({ type: "turn_output", ...processOf(row), turnId, text: `line ${row.said} of ${turnId}` })
    put({ ...row, said: row.said + 1 })
  }

  const begin = (row: SimSession): void => {
    const next: SimSession = { ...row, generation: row.generation + 1, process: "starting" }
    put(next)
    emit({ type: "process_starting", ...processOf(next) })
  }

  const end = (row: SimSession): void => {
    exit(row, "asked")
    if (row.ending === 1) emit({ type: "released", sessionId: row.session_id })
    remove.run(row.session_id)
  }

  const stepRunning = (row: SimSession, turnId: TurnId): void => {
    const isOver = row.cancel !== null || row.said >= saidMax || random.chance(0.4)
    write(row.session_id, () => (isOver ? settle(row, turnId) : say(row, turnId)))
  }

  const becomeReady = (row: SimSession): void => {
    emit({ type: "process_ready", ...processOf(row) })
    put({ ...row, process: "ready" })
  }

  const startTurn = (row: SimSession, turnId: TurnId): void => {
    emit({ type: "turn_started", ...processOf(row), turnId })
    put({ ...row, phase: "running", said: 0 })
  }

  const step = (row: SimSession): void => {
    const { session_id: id, process, phase, turn, held, ending } = row
    if (ending !== 0) write(id, () => end(row))
    else if (phase === "running" && turn !== null) stepRunning(row, turn)
    else if (!deps.hasLease()) return
    else if (process === "none" && held === 0) write(id, () => begin(row), "synced")
    else if (process === "starting") write(id, () => becomeReady(row))
    else if (process === "ready" && phase === "waiting" && turn !== null && held === 0)
      write(id, () => startTurn(row, turn), "synced")
  }

  const assign = ({ sessionId, generation, holds }: SessionAssignment): void => {
    const row = get(sessionId)
    const held = holds.length > 0 ? 1 : 0
    if (row === undefined) {
      const none = { process: "none", turn: null, phase: "none", cancel: null, finished: null } as const
      put({ session_id: sessionId, generation, held, ending: 0, ...none, said: 0 })
      return
    }
    const recalled = held === 1 && row.phase === "waiting" ? { turn: null, phase: "none" as const } : {}
    const isDropped = row.ending === 2 ? { ending: 0 } : {}
    put({ ...row, generation: Math.max(row.generation, generation), held, ...recalled, ...isDropped })
  }

  const dispatch = (sessionId: SessionId, turnId: TurnId): void => {
    const row = get(sessionId)
    if (row === undefined || row.finished === turnId || row.turn === turnId || row.held === 1) return
    if (row.phase === "running") {
      // Another one runs that the control plane gave up: its process ends, and the next one takes this Turn.
      exit({ ...row, phase: "none" }, "asked")
      put({ ...withoutProcess(row), turn: turnId, phase: "waiting" })
    } else put({ ...row, turn: turnId, phase: "waiting", cancel: null })
  }

  const cancel = (sessionId: SessionId, turnId: TurnId, status: "interrupted" | "cancelled"): void => {
    const row = get(sessionId)
    if (row?.turn !== turnId) return
    if (row.phase === "running") put({ ...row, cancel: status })
    else put({ ...row, turn: null, phase: "none" })
  }

  const apply = (command: LinkCommand): void => {
    deps.applied(deps.received(), command)
    switch (command.type) {
      case "assign":
        assign(command.assignment)
        break
      case "dispatch":
        dispatch(command.sessionId, command.turn.id)
        break
      case "cancel_turn":
        cancel(command.sessionId, command.turnId, command.status)
        break
      case "release": {
        const row = get(command.sessionId)
        if (row === undefined) emit({ type: "released", sessionId: command.sessionId })
        else put({ ...row, ending: 1 })
        break
      }
      case "message":
      case "answer":
        break
    }
  }

  /** A Turn that a process of a lost store may have run is lost with it. */
  const loseTurn = (assignment: SessionAssignment, turnId: TurnId): void => {
    emit({
      type: "process_exited",
      sessionId: assignment.sessionId,
      generation: Generation.parse(assignment.generation),
      reason: { kind: "unknown", message: "the record of this process was lost" },
      turnId,
      expected: false,
      next: "hold",
    })
    const row = get(assignment.sessionId)
    if (row !== undefined) put({ ...row, finished: turnId })
  }

  const reconcile: LinkSessions["reconcile"] = (run) => {
    deps.applied(deps.received(), undefined)
    const listed = new Set(run.map(({ assignment }) => assignment.sessionId))
    for (const row of all()) if (!listed.has(row.session_id) && row.ending === 0) put({ ...row, ending: 2 })
    for (const { assignment, turn, cancel: stop } of run) {
      const { sessionId } = assignment
      const isNew = get(sessionId) === undefined
      assign(assignment)
      const row = get(sessionId)
      if (row?.turn !== null && row?.turn !== turn?.id && row !== undefined) {
        if (row.phase === "running") put({ ...row, cancel: "interrupted" })
        else put({ ...row, turn: null, phase: "none" })
      }
      if (turn === undefined || row?.finished === turn.id) continue
      if (isNew && assignment.generation > 0) loseTurn(assignment, turn.id)
      else dispatch(sessionId, turn.id)
      if (stop !== undefined) cancel(sessionId, turn.id, stop)
    }
  }

  const living = (): readonly LivingProcess[] => {
    deps.telling(deps.received())
    return all()
      .filter((row) => row.process !== "none")
      .map((row) => ({
        ...processOf(row),
        state: row.phase === "running" ? "running" : row.process === "ready" ? "ready" : "starting",
        ...(row.phase === "running" && row.turn !== null ? { turnId: row.turn } : {}),
      }))
  }

  const nth = (which: number, fits: (row: SimSession) => boolean): SimSession | undefined => {
    const rows = all().filter(fits)
    return rows[which % Math.max(1, rows.length)]
  }

  return {
    apply,
    reconcile,
    living,
    all,
    wake: () => {
      for (const row of all()) schedule(row.session_id)
    },
    loseProcesses: () =>
      store.transaction(() => {
        for (const row of all()) {
          exit(row, "lost")
          put(withoutProcess(row))
        }
      }),
    killOne: (which) => {
      const row = nth(which, ({ process }) => process !== "none")
      if (row === undefined) return
      write(row.session_id, () => {
        exit(row, "died")
        put(withoutProcess(row))
      })
    },
    shout: (which, lines) => {
      const row = nth(which, ({ phase }) => phase === "running")
      if (row?.turn === null || row === undefined) return
      const turnId = row.turn
      write(row.session_id, () => {
        for (let line = 0; line < lines; line += 1)
          emit({ type: "turn_output", ...processOf(row), turnId, text: `shouted ${line + row.said}` })
        put({ ...row, said: row.said + lines })
      })
    },
    close: () => {
      closed = true
    },
  }
}
