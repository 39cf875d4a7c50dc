/** A supervisor's status for people: aligned columns, one line a Session. */
import type { Status } from "@computerd/protocol/operator"

type SessionStatus = Status["sessions"][number]

const second = 1_000
const minute = 60 * second
const hour = 60 * minute
const day = 24 * hour

/** The two largest units that matter. */
const duration = (ms: number): string => {
  if (ms < minute) return `${Math.max(0, Math.floor(ms / second))}s`
  if (ms < hour) return `${Math.floor(ms / minute)}m ${Math.floor((ms % minute) / second)}s`
  if (ms < day) return `${Math.floor(ms / hour)}h ${Math.floor((ms % hour) / minute)}m`
  return `${Math.floor(ms / day)}d ${Math.floor((ms % day) / hour)}h`
}

const since = (timestamp: string, nowMs: number): string => duration(nowMs - Date.parse(timestamp))

const table = (rows: readonly (readonly string[])[]): readonly string[] => {
  const widths = (rows[0] ?? []).map((_, column) =>
    Math.max(...rows.map((row) => (row[column] ?? "").length)),
  )
  return rows.map((row) =>
    row
      .map((cell, column) => cell.padEnd(widths[column] ?? 0))
      .join("  ")
      .trimEnd(),
  )
}

const leaseText = ({ state, epoch, remainingMs }: Status["lease"]): string => {
  if (state === "none") return "none"
  return state === "held"
    ? `held, epoch ${epoch}, ${duration(remainingMs ?? 0)} left`
    : `lapsed, epoch ${epoch}: MCP requests are refused until it is renewed`
}

const frozenRow = (frozenSince: string, nowMs: number): readonly string[] => [
  "Frozen",
  `every Session process, for ${since(frozenSince, nowMs)}: without a lease nothing runs`,
]

const linkText = (link: Status["link"], nowMs: number): string => {
  const state = `${link.state.replace("_", " ")} for ${since(link.since, nowMs)}`
  const attempts = link.attempts > 0 ? `, ${link.attempts} failed attempts` : ""
  const error = link.lastError === null ? "" : ` (${link.lastError})`
  return `${state}${attempts}${error}`
}

const turnText = (session: SessionStatus, nowMs: number): string => {
  if (session.turnId === null) return "-"
  const elapsed = session.turnStartedAt === null ? "" : ` ${since(session.turnStartedAt, nowMs)}`
  return `${session.turnId}${elapsed}`
}

const mcpText = ({ mcpPort, scopes }: SessionStatus): string =>
  mcpPort === null ? "-" : `${mcpPort} (${scopes} ${scopes === 1 ? "scope" : "scopes"})`

const sessionRow = (session: SessionStatus, nowMs: number): readonly string[] => [
  session.id,
  session.agent,
  session.held ? `${session.state}, held` : session.state,
  String(session.generation),
  session.pid === null ? "-" : String(session.pid),
  turnText(session, nowMs),
  mcpText(session),
  session.lastExit ?? "-",
]

const sessionsText = (sessions: Status["sessions"], nowMs: number): readonly string[] =>
  sessions.length === 0
    ? ["No Sessions."]
    : table([
        ["SESSION", "AGENT", "STATE", "GENERATION", "PID", "TURN", "MCP", "LAST EXIT"],
        ...sessions.map((session) => sessionRow(session, nowMs)),
      ])

const mebibytes = (bytes: number): string => `${(bytes / 1_048_576).toFixed(1)} MiB`

const storeRows = (store: NonNullable<Status["store"]>): readonly (readonly string[])[] => {
  const { fileBytes, logBytes, admissions, eventsSetAside } = store
  return [
    ["Store", `${mebibytes(fileBytes)}, log ${mebibytes(logBytes)}`],
    ["Admissions", `${admissions.open} open, ${admissions.settled} settled in the journal`],
    ...(store.ballast === "kept" ? [] : [["Disk", "full: nothing new is begun until there is room again"]]),
    ...(eventsSetAside === 0 ? [] : [["Set aside", `${eventsSetAside} events that nobody can read`]]),
  ]
}

export const renderStatus = (status: Status, nowMs: number): string => {
  const { computer, link, lease } = status
  const facts = table([
    ["Computer", computer.id],
    ["Supervisor", `computerd ${status.version}, pid ${status.pid}, up ${since(status.startedAt, nowMs)}`],
    ["State", computer.stateDirectory],
    ["Workspace", computer.workspace],
    ["Isolation", computer.isolation.replace("_", " ")],
    ...(computer.degraded ?? []).map((reason) => ["Degraded", reason]),
    ["Control plane", link.url],
    ["Link", linkText(link, nowMs)],
    ["Lease", leaseText(lease)],
    ...(computer.frozenSince === undefined ? [] : [frozenRow(computer.frozenSince, nowMs)]),
    ["Unacknowledged", `${link.unacknowledgedEvents} events`],
    ...(status.store === undefined ? [] : storeRows(status.store)),
  ])
  return `${[...facts, "", ...sessionsText(status.sessions, nowMs)].join("\n")}\n`
}
