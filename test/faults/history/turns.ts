/**
 * What must hold for Turns and the processes that run them.
 *
 * settled once       whoever looks at a settled Turn sees the same end for ever; a completed one returned what its one
 *                    run made
 * ran once           no Turn begins twice
 * not under a hold   a Turn that was asked for under an effective hold does not start before its release
 * not in a replaced  once a later process of a Session has initialised, no earlier one begins a Turn: that would be one
 *                    of a stale generation, or of a supervisor of a stale epoch
 */
import type { Json } from "@computerd/protocol/content"
import { attempts, textOf } from "./calls.ts"
import {
  type Entry,
  type FinalState,
  type Hold,
  isSettled,
  ofKind,
  type Session,
  type Turn,
} from "./record.ts"

const endOf = (value: Json): string | undefined => {
  if (value === null || typeof value !== "object" || !("outcome" in value)) return undefined
  return textOf((value as { readonly outcome: Json }).outcome, "status")
}

/** Ends of Turns as clients were told of them. */
const endsSeen = (history: readonly Entry[]): readonly { readonly turn: string; readonly status: string }[] =>
  attempts(history).flatMap(({ asked, outcome }) => {
    if (asked.tool !== "wait_turn" || outcome?.kind !== "answered") return []
    const [turn, status] = [textOf(asked.arguments, "turnId"), endOf(outcome.value)]
    return turn === undefined || status === undefined ? [] : [{ turn, status }]
  })

const wrongToken = (history: readonly Entry[], turn: Turn): readonly string[] => {
  if (turn.status !== "completed") return []
  const ended = ofKind(history, "ended").filter((entry) => entry.turn === turn.id)
  return ended.some(({ token }) => token === turn.token)
    ? []
    : [`${turn.id} completed with what no run of it returned`]
}

export const settledOnce = (history: readonly Entry[], { turns }: FinalState): readonly string[] => {
  const statuses = new Map(turns.map(({ id, status }) => [id, status]))
  const changed = endsSeen(history)
    .filter(({ turn, status }) => statuses.get(turn) !== status)
    .map(({ turn, status }) => `${turn} was ${status} once and is ${statuses.get(turn) ?? "gone"}`)
  return [...changed, ...turns.flatMap((turn) => wrongToken(history, turn))]
}

export const ranOnce = (history: readonly Entry[]): readonly string[] => {
  const runs = Map.groupBy(ofKind(history, "began"), ({ turn }) => turn)
  return [...runs].flatMap(([turn, begun]) =>
    begun.length > 1 ? [`${turn} began ${begun.length} times`] : [],
  )
}

const lineage = (id: string, sessions: ReadonlyMap<string, Session>): readonly string[] => {
  const found: string[] = []
  for (let at: string | null | undefined = id; typeof at === "string"; at = sessions.get(at)?.parent)
    found.push(at)
  return found
}

const forbids = ({ createdAt, releasedAt }: Hold, turn: Turn): boolean =>
  turn.startedAt !== null &&
  turn.createdAt > createdAt &&
  (releasedAt === null || turn.startedAt < releasedAt)

export const notUnderHold = (_: readonly Entry[], state: FinalState): readonly string[] => {
  const sessions = new Map(state.sessions.map((session) => [session.id, session]))
  return state.turns.flatMap((turn) => {
    const [own, ...ancestors] = lineage(turn.session, sessions)
    const effective = state.holds.filter(
      ({ session, kind }) => session === own || (kind === "interrupt" && ancestors.includes(session)),
    )
    return effective
      .filter((hold) => forbids(hold, turn))
      .map((hold) => `${turn.id} started under the ${hold.kind} hold ${hold.id}`)
  })
}

export const notReplaced = (history: readonly Entry[]): readonly string[] => {
  const newest = new Map<string, string>()
  const wrong: string[] = []
  for (const entry of history) {
    if (entry.kind === "initialised") newest.set(entry.session, entry.instance)
    if (entry.kind === "began" && newest.get(entry.session) !== entry.instance)
      wrong.push(`${entry.turn} began in a process of ${entry.session} that had been replaced`)
  }
  return wrong
}

/** Also what ran and is not on record. */
export const allSettled = (history: readonly Entry[], { turns }: FinalState): readonly string[] => {
  const known = new Set(turns.map(({ id }) => id))
  const lost = ofKind(history, "began").filter(({ turn }) => !known.has(turn))
  const healed = ofKind(history, "healed")
  return [
    ...turns.filter((turn) => !isSettled(turn)).map(({ id, status }) => `${id} is ${status} for ever`),
    ...lost.map(({ turn }) => `${turn} ran and is not on record`),
    ...healed.flatMap(({ left }) => left),
    ...(healed.length === 0 ? ["it never healed"] : []),
  ]
}
