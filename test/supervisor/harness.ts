/** A supervisor's Sessions in a folder of their own, with real processes, store and channel. */
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { SupervisorConfiguration } from "@computerd/protocol/configuration"
import { ok } from "@computerd/protocol/errors"
import { Digest, type SessionId, type TurnId } from "@computerd/protocol/ids"
import type { LinkCommand, LinkEvent, SessionAssignment } from "@computerd/protocol/link"
import { createJournal, type JournalEntry } from "@computerd/supervisor/journal"
import { type Ports, systemPorts } from "@computerd/supervisor/ports"
import type { Isolation } from "@computerd/supervisor/process/cgroup"
import { createSessions } from "@computerd/supervisor/session/create"
import type { Sessions, SessionsDeps } from "@computerd/supervisor/session/sessions"
import { createSessionTime } from "@computerd/supervisor/session/time"
import { openStore, type Store } from "@computerd/supervisor/store/open"

const scriptedHost: readonly string[] = [process.execPath, join(import.meta.dir, "programs/scripted.ts")]

export const ports: Ports = systemPorts(process.env)

export interface World {
  readonly directory: string
  readonly workspace: string
  readonly sessions: Sessions
  readonly store: Store
  readonly events: LinkEvent[]
  readonly entries: JournalEntry[]
  readonly config: SupervisorConfiguration
  /** Disconnects that were asked for, in order. */
  readonly disconnects: string[]
  readonly apply: (...commands: LinkCommand[]) => void
  /** Waits, with a bound, until an event of this type is there for which the test holds. */
  readonly event: <Type extends LinkEvent["type"]>(
    type: Type,
    test?: (event: Extract<LinkEvent, { type: Type }>) => boolean,
  ) => Promise<Extract<LinkEvent, { type: Type }>>
  readonly until: <Value>(look: () => Value | undefined | false) => Promise<Value>
  /** For a failure of the store or the outbox at a chosen moment. */
  readonly refuse: { event: LinkEvent["type"] | undefined }
  readonly assignment: (agent: string, part?: Partial<SessionAssignment>) => SessionAssignment
  readonly dispatch: (sessionId: SessionId, text: string) => LinkCommand & { type: "dispatch" }
  readonly close: () => Promise<void>
}

export interface WorldOptions {
  readonly directory?: string
  readonly startTimeoutMs?: number
  readonly reattachMs?: number
  readonly isolation?: Isolation
  readonly sessionHost?: readonly string[]
  readonly connect?: SessionsDeps["connect"]
  readonly hasLease?: SessionsDeps["hasLease"]
  /** Of Session processes, by configuration. */
  readonly environment?: Readonly<Record<string, string>>
  readonly limits?: SupervisorConfiguration["limits"]
  /** The supervisor's own. */
  readonly own?: Readonly<Record<string, string | undefined>>
  readonly bundles?: SessionsDeps["bundles"]
}

const waitMaxMs = 50_000

export const temporaryDirectory = (): string => mkdtempSync(join(tmpdir(), "computerd-test-"))

export const settled = async <Value>(look: () => Value | undefined | false, what = "it"): Promise<Value> => {
  const end = performance.now() + waitMaxMs
  for (;;) {
    const value = look()
    if (value !== undefined && value !== false) return value
    if (performance.now() > end) throw new Error(`${what} did not happen within ${waitMaxMs} ms`)
    await Bun.sleep(2)
  }
}

export const newAssignment = (agent: string, part: Partial<SessionAssignment> = {}): SessionAssignment => ({
  sessionId: ports.newId("ses"),
  agent,
  deploymentId: ports.newId("dep"),
  bundle: Digest.parse("0".repeat(64)),
  maximum: { kind: "finite", allow: [] },
  manifestAgents: [agent],
  role: "root",
  generation: 0,
  recovery: { kind: "initial" },
  holds: [],
  status: "open",
  ...part,
})

export const recoveryHold = ({ sessionId }: SessionAssignment): SessionAssignment["holds"][number] => ({
  id: ports.newId("hld"),
  sessionId,
  kind: "recovery",
  createdAt: new Date(ports.clock.wallMs()).toISOString(),
})

/** Turns of a Session are numbered in the order of their making, as the control plane numbers them. */
let sequence = 0

export const newDispatch = (sessionId: SessionId, text: string, id: TurnId = ports.newId("trn")) => ({
  type: "dispatch" as const,
  sessionId,
  turn: {
    id,
    sequence: ++sequence,
    createdAt: new Date(ports.clock.wallMs()).toISOString(),
    input: [{ type: "text" as const, text }],
    source: { kind: "client" as const },
  },
})

/** The same one for every supervisor of the directory. */
const computerOf = (directory: string): string => {
  const file = join(directory, "computer-id")
  if (!existsSync(file)) writeFileSync(file, ports.newId("cmp"))
  return readFileSync(file, "utf8")
}

export const createWorld = async (options: WorldOptions = {}): Promise<World> => {
  const directory = options.directory ?? temporaryDirectory()
  const workspace = join(directory, "workspace")
  mkdirSync(workspace, { recursive: true })
  const bundle = join(directory, "index.js")
  writeFileSync(bundle, "")
  const entries: JournalEntry[] = []
  const events: LinkEvent[] = []
  const disconnects: string[] = []
  const refuse: World["refuse"] = { event: undefined }
  const journal = createJournal(ports.clock, [(entry) => entries.push(entry)])
  const opened = openStore({ directory: join(directory, "state"), ports, journal })
  if (!opened.ok) throw new Error(opened.error.message)
  const store = opened.value
  const config = SupervisorConfiguration.parse({
    computerId: computerOf(directory),
    controlPlaneUrl: "http://127.0.0.1:1",
    credentialFile: join(directory, "credential"),
    stateDirectory: join(directory, "state"),
    workspace,
    sessionHost: [...(options.sessionHost ?? scriptedHost)],
    environment: options.environment ?? {},
    limits: options.limits ?? {},
  })
  const created = await createSessions({
    ports: options.own === undefined ? ports : systemPorts(options.own),
    journal,
    store,
    config,
    bundles: options.bundles ?? { path: () => Promise.resolve(ok(bundle)) },
    hasLease: options.hasLease ?? (() => true),
    time: createSessionTime(ports),
    emit: (event) => {
      if (refuse.event === event.type) throw new Error("database or disk is full")
      if (!store.database.inTransaction) throw new Error(`${event.type} was emitted outside a transaction`)
      events.push(event)
    },
    connect:
      options.connect ??
      (() => Promise.resolve(ok({ url: "http://127.0.0.1:1/mcp", headers: { Authorization: "Bearer t" } }))),
    disconnect: ({ generation }, cause) => {
      disconnects.push(`${generation} ${cause}`)
      return Promise.resolve()
    },
    ...(options.isolation === undefined ? {} : { isolation: options.isolation }),
    ...(options.reattachMs === undefined ? {} : { reattachMs: options.reattachMs }),
    ...(options.startTimeoutMs === undefined ? {} : { startTimeoutMs: options.startTimeoutMs }),
  })
  if (!created.ok) throw new Error(created.error.message)
  const sessions = created.value

  return {
    directory,
    workspace,
    sessions,
    store,
    events,
    entries,
    config,
    disconnects,
    refuse,
    apply: (...commands) => {
      store.transaction(() => {
        for (const command of commands) sessions.apply(command)
      })
    },
    event: (type, test = () => true) =>
      settled(
        () =>
          events.find(
            (event): event is Extract<LinkEvent, { type: typeof type }> =>
              event.type === type && test(event as Extract<LinkEvent, { type: typeof type }>),
          ),
        `${type} (seen: ${events.map((event) => event.type).join(", ")})`,
      ),
    until: settled,
    assignment: newAssignment,
    dispatch: newDispatch,
    close: async () => {
      const failed = await sessions.stop(3000)
      store.close()
      rmSync(directory, { recursive: true, force: true })
      if (failed.length > 0) throw new Error(failed.join(", "))
    },
  }
}
