/** How each thing of a fleet reads as rows. Ids are whole, so that they can be searched and pasted. Pure. */
import type {
  Computer,
  DeployedAgent,
  DeployedTemplate,
  Deployment,
  Question,
  ResolvedNetwork,
  SessionRecord,
  TurnRecord,
} from "@helmr/sdk"
import { counted, errorText, sessionWords } from "../view/text.ts"
import { type Cell, table } from "./table.ts"

export const deploymentRows = (deployments: readonly Deployment[]): string =>
  table(
    ["DEPLOYMENT", "CURRENT", "CREATED", "AGENTS"],
    deployments.map(({ id, current, createdAt, agents }) => [
      id,
      current ? "yes" : "no",
      createdAt,
      agents.join(" "),
    ]),
    "No Deployments.",
  )

const idleText = (ms: number | null): string => (ms === null ? "never" : `after ${ms} ms idle`)

export const agentRows = (agents: readonly DeployedAgent[]): string =>
  table(
    ["AGENT", "TEMPLATE", "CLOSES", "RULES"],
    agents.map(({ id, template, closeAfterIdleMs, runtimeMcp }) => [
      id,
      template,
      idleText(closeAfterIdleMs),
      runtimeMcp.allow.length,
    ]),
    "No Agents.",
  )

const networkText = (network: ResolvedNetwork): string => {
  if ("allowDomains" in network) return counted(network.allowDomains.length, "allowed domain")
  return network.blockAll ? "blocked" : "ordinary"
}

export const templateRows = (templates: readonly DeployedTemplate[]): string =>
  table(
    ["TEMPLATE", "CPU", "MEMORY", "NETWORK", "SECRETS", "PREPARE"],
    templates.map(({ id, resources, network, secrets, hasPrepare }) => [
      id,
      resources.cpu,
      resources.memoryBytes,
      networkText(network),
      secrets.length,
      hasPrepare ? "yes" : "no",
    ]),
    "No Templates.",
  )

const stateOf = ({ status, process, holds }: SessionRecord): string => {
  const [hold] = holds
  return `${sessionWords(status, process)}${hold === undefined ? "" : `, held (${hold.kind})`}`
}

const sessionCells = (session: SessionRecord): readonly Cell[] => [
  session.id,
  session.agent,
  stateOf(session),
  session.key,
  session.computerId,
  session.parentSessionId,
  session.createdAt,
]

export const sessionRows = (sessions: readonly SessionRecord[]): string =>
  table(
    ["SESSION", "AGENT", "STATE", "KEY", "COMPUTER", "PARENT", "CREATED"],
    sessions.map(sessionCells),
    "No Sessions.",
  )

const turnCells = (turn: TurnRecord): readonly Cell[] => [
  turn.id,
  turn.sequence,
  turn.status,
  turn.error === undefined ? turn.waitingFor : errorText(turn.error),
  turn.createdAt,
  turn.settledAt,
]

/** One Session with its holds and its newest Turns. */
export const sessionDetail = (session: SessionRecord, turns: readonly TurnRecord[]): string =>
  [
    table(
      ["SESSION", session.id],
      [
        ["agent", session.agent],
        ["state", stateOf(session)],
        ["key", session.key],
        ["generation", session.generation],
        ["template", session.template],
        ["deployment", session.deploymentId],
        ["computer", session.computerId],
        ["root", session.rootSessionId],
        ["parent", session.parentSessionId],
        ["requester", session.requesterSessionId],
        ["created", session.createdAt],
        ["idle since", session.idleSince],
        ["closed", session.closedAt],
      ],
      "",
    ),
    table(
      ["HOLD", "KIND", "OF SESSION", "RESUME", "REASON", "SINCE"],
      session.holds.map(({ id, kind, sessionId, canRelease, recoveryGap, createdAt }) => [
        id,
        kind,
        sessionId,
        canRelease ? "yes" : "no",
        recoveryGap?.reason,
        createdAt,
      ]),
      "No holds.",
    ),
    table(["TURN", "#", "STATUS", "REASON", "CREATED", "SETTLED"], turns.map(turnCells), "No Turns."),
  ].join("\n")

export const questionRows = (questions: readonly Question[]): string =>
  table(
    ["QUESTION", "TURN", "ASKED", "TEXT"],
    questions.map(({ id, turnId, createdAt, question }) => [
      id,
      turnId,
      createdAt,
      question.map(({ text }) => text).join(""),
    ]),
    "No open questions.",
  )

export const computerRows = (computers: readonly Computer[]): string =>
  table(
    ["COMPUTER", "TEMPLATE", "STATE", "KEY", "UNUSED SINCE", "CREATED", "REASON"],
    computers.map((computer) => [
      computer.id,
      computer.template,
      computer.status === "available" ? computer.residency : computer.status,
      computer.key,
      computer.unusedSince,
      computer.createdAt,
      computer.error?.message ?? computer.error?.code,
    ]),
    "No Computers.",
  )
