/** The checks of a running schedule, of its healing, and of its end. */
import type { Database } from "bun:sqlite"
import type { Stage } from "./actions.ts"
import { historyOf, sessionsOf } from "./sessions.ts"

/** The pump's window, and what one batch may go beyond it. */
const inFlightMax = 512 + 64

/** After every step. T4, and that what is under way stays bounded. */
export const checkStep = ({ world, supervisors }: Stage): void => {
  const { truth } = world
  const holders = supervisors.filter((one) => one.life?.lease.state().state === "held")
  truth.check(
    "T4",
    holders.length <= 1,
    () => `${holders.map(({ name }) => name).join(" and ")} hold the lease`,
  )
  for (const one of supervisors)
    for (const wire of one.wires) {
      const count = wire.inFlight("up")
      truth.check("bounds", count <= inFlightMax, () => `${count} frames of ${wire.name} are under way`)
    }
}

const count = (database: Database, sql: string): number =>
  database.query<{ count: number }, []>(sql).get()?.count ?? 0

/** What still has to happen, in words; empty when everything has settled. */
const unsettled = ({ controlPlane, callers, owner }: Stage): readonly string[] => {
  const one = owner()
  if (one?.life === undefined || controlPlane.life === undefined) return ["nobody holds the lease"]
  const { outbox, admissions } = one.life
  const open = one.look((database) =>
    count(database, "SELECT COUNT(*) AS count FROM admissions WHERE state IN ('sent', 'uncertain')"),
  )
  const turns = controlPlane.look((database) =>
    count(database, "SELECT COUNT(*) AS count FROM turns WHERE settled_at IS NULL"),
  )
  const commands = controlPlane.look((database) => count(database, "SELECT COUNT(*) AS count FROM commands"))
  const restless = one.life.sessions
    .all()
    .filter(({ process, phase, ending }) => process !== "ready" || phase !== "none" || ending !== 0)
  return [
    ...(outbox.unacknowledged() > 0 ? [`${outbox.unacknowledged()} events are not acknowledged`] : []),
    ...(commands > 0 ? [`${commands} commands are not acknowledged`] : []),
    ...((open ?? 0) > 0 ? [`${open} admissions are open in the journal`] : []),
    ...(admissions.size > 0 ? [`${admissions.size} calls are under way`] : []),
    ...(turns > 0 ? [`${turns} Turns have not settled`] : []),
    ...(restless.length > 0 ? [`Sessions rest not: ${JSON.stringify(restless)}`] : []),
    ...callers.pending().map((call) => `nobody has answered ${call}`),
  ]
}

export const isSettled = (stage: Stage): boolean => unsettled(stage).length === 0

interface ReceiptRow {
  readonly key: string
  readonly tool: string
  readonly answer: string
}

/** T5: one receipt is one effect, and the answer that callers got is the receipt's. */
const checkEffects = ({ world, controlPlane }: Stage): void => {
  const { truth } = world
  const receipts = controlPlane.look((database) =>
    database.query<ReceiptRow, []>("SELECT key, tool, answer FROM receipts").all(),
  )
  const inputs = controlPlane.look((database) =>
    database.query<{ content: string }, []>("SELECT content FROM inputs").all(),
  )
  const byKey = new Map(receipts.map((receipt) => [receipt.key, receipt]))
  for (const [key, answer] of truth.answers)
    truth.check(
      "T5",
      byKey.get(key)?.answer === answer,
      () => `${key} was answered ${answer} without such a receipt`,
    )
  for (const { key, tool } of receipts) {
    if (tool !== "spawn" && tool !== "enqueue") continue
    const effects = inputs.filter(({ content }) => content.includes(JSON.stringify(key))).length
    truth.check("T5", effects === 1, () => `${key} has one receipt and ${effects} Turns`)
  }
}

/** The desired state is what the supervisor has. */
const checkSessions = ({ world, controlPlane, owner }: Stage): void => {
  const wanted = controlPlane.look((database) =>
    database
      .query<{ id: string; generation: number }, []>(
        "SELECT id, generation FROM sessions WHERE status <> 'closed' ORDER BY id",
      )
      .all()
      .map(({ id, generation }) => `${id} ${generation}`),
  )
  const there = owner()?.look((database) =>
    sessionsOf(database).map((row) => `${row.session_id} ${row.generation}`),
  )
  world.truth.check("F2", JSON.stringify(wanted) === JSON.stringify(there), () => `${wanted} run as ${there}`)
}

/** A1 A2: a call whose effect exists is in the journal as admitted, unless a power cut or a new store took the entry. */
const checkJournal = ({ world, controlPlane, supervisors }: Stage, faults: ReadonlySet<string>): void => {
  if (faults.has("power cut") || faults.has("damaged store")) return
  const receipts = controlPlane.look((database) =>
    database.query<{ key: string }, []>("SELECT key FROM receipts").all(),
  )
  const entries = supervisors.flatMap(
    (one) =>
      one.look((database) =>
        database
          .query<{ idempotency_key: string; state: string }, []>(
            "SELECT idempotency_key, state FROM admissions",
          )
          .all(),
      ) ?? [],
  )
  const { calls } = world.truth
  for (const { key } of receipts) {
    const states = entries.filter(({ idempotency_key }) => idempotency_key === key).map(({ state }) => state)
    const isKnown = !calls.has(key) || states.includes("admitted") || states.includes("uncertain")
    world.truth.check("T5", isKnown, () => `${key} was admitted and the journal says ${states}`)
  }
}

export const checkEnd = (stage: Stage, settled: boolean, faults: ReadonlySet<string>): void => {
  const { world, supervisors, owner } = stage
  world.truth.check("settling", settled, () => unsettled(stage).join("; "))
  for (const one of supervisors) {
    const { storeId } = one
    const rows = one.look(historyOf)
    if (storeId !== undefined && rows !== undefined)
      world.truth.compareEvents(storeId, rows, settled && one === owner())
  }
  checkEffects(stage)
  if (settled) checkSessions(stage)
  checkJournal(stage, faults)
}
