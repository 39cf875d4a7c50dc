/** What a control plane says of its Computers: one line each, with the Sessions and Turns on it. Ids are whole. */
import { operatorClient } from "@computerd/control-plane/http/client"
import type { SnapshotAnswer } from "@computerd/control-plane/http/messages"
import { ok, type Result } from "@computerd/protocol/errors"
import { elapsed, errorText, oneLine, sessionWords } from "./view/text.ts"

type Computer = SnapshotAnswer["computers"][number]
type Session = SnapshotAnswer["sessions"][number]
type Turn = Session["turns"][number]

const because = (reason: string | null | undefined): string =>
  reason === null || reason === undefined ? "" : ` (${reason})`

const reasonOf = ({ error, waitingFor }: Turn): string | null =>
  error === undefined ? waitingFor : errorText(error)

const turnLine = (turn: Turn, nowMs: number): string => {
  const time = elapsed((turn.settledAtMs ?? nowMs) - (turn.startedAtMs ?? turn.createdAtMs))
  return `    Turn ${turn.id}: ${oneLine(`${turn.status} ${time}${because(reasonOf(turn))}`)}`
}

const sessionState = ({ status, process, generation, holds }: Session): string =>
  [
    sessionWords(status, process),
    ...holds.map(({ id, kind }) => `held (${kind} ${id})`),
    `generation ${generation}`,
  ].join(", ")

const sessionLines = (session: Session, nowMs: number): readonly string[] => [
  `  Session ${session.id} ${session.agent}: ${sessionState(session)}`,
  ...session.turns.map((turn) => turnLine(turn, nowMs)),
]

const computerLine = ({ id, template, status, residency, error }: Computer): string =>
  oneLine(`Computer ${id} ${template}: ${status === "available" ? residency : status}${because(error)}`)

const readable = ({ atMs, computers, sessions }: SnapshotAnswer): string => {
  const lines = computers.flatMap((computer) => [
    computerLine(computer),
    ...sessions
      .filter(({ computerId }) => computerId === computer.id)
      .flatMap((session) => sessionLines(session, atMs)),
  ])
  return `${(lines.length === 0 ? ["No Computers."] : lines).join("\n")}\n`
}

export const fleetStatusText = async (
  stateDirectory: string,
  form: "readable" | "json",
): Promise<Result<string>> => {
  const snapshot = await operatorClient(stateDirectory).snapshot()
  if (!snapshot.ok) return snapshot
  return ok(form === "json" ? `${JSON.stringify(snapshot.value, null, 2)}\n` : readable(snapshot.value))
}
