/** Builds a receiver over its store: rules decide, commits make durable, waits and listeners are told afterwards. */
import { CodedError, failure, ok, type Result } from "@computerd/protocol/errors"
import type { ComputerId } from "@computerd/protocol/ids"
import { unacknowledgedFramesMax } from "@computerd/protocol/limits"
import { AdmittedTurn } from "@computerd/runtime-mcp/tools/views"
import type { Ports } from "../ports.ts"
import { attach, detach, renew } from "../rules/attachment.ts"
import type { Changes } from "../rules/changes.ts"
import { confirmDeleted, loseComputer, reportState } from "../rules/computers.ts"
import type { Settings } from "../rules/given.ts"
import { controlFromOutside, startFromOutside } from "../rules/outside.ts"
import { openStore, type Store } from "../store/open.ts"
import { createAdmissions } from "./admissions.ts"
import { type Commits, createCommits, settledTurns } from "./commits.ts"
import { createDue } from "./due.ts"
import type { FleetEvent } from "./fleet.ts"
import { createListeners } from "./listeners.ts"
import type { Receiver, StartedSession } from "./receiver.ts"
import { applyReport } from "./reports.ts"
import { givenOf, sameText, sha256Hex } from "./seals.ts"
import { computerRows, fleetSnapshot, viewTurn } from "./snapshot.ts"
import { fleetEvents } from "./told.ts"
import { createWaits, type Waits } from "./waits.ts"

export interface ReceiverOptions {
  /** The SQLite file; its directory exists. */
  readonly path: string
  readonly ports: Ports
  readonly settings: Settings
}

interface Parts {
  readonly store: Store
  readonly ports: Ports
  readonly commits: Commits
  readonly waits: Waits
}

const publication = ({
  store,
  ports,
  commits,
}: Parts): Pick<Receiver, "addDeployment" | "deployment" | "currentDeployment"> => ({
  addDeployment: (environment, manifest) => {
    const id = ports.newId("dep")
    const added = commits.now("publish", (draft, given) => {
      draft.addDeployment({ id, environment, manifest, createdAt: given.now })
      return ok(undefined)
    })
    if (!added.ok) throw new CodedError(added.error)
    return { deploymentId: id }
  },
  deployment: (id) => store.state.deployment(id)?.manifest,
  currentDeployment: store.state.currentDeployment,
})

const outside = ({ commits }: Parts): Pick<Receiver, "startSession" | "control"> => ({
  startSession: (request): Result<StartedSession> => {
    const started = commits.now("start", (draft, given) => startFromOutside(draft, request, given))
    return started.ok ? ok(AdmittedTurn.parse(started.value.answer)) : started
  },
  control: (request) =>
    commits.now(request.kind, (draft, given) => controlFromOutside(draft, request, given)),
})

type ComputerCalls = Pick<
  Receiver,
  | "computersToRun"
  | "computers"
  | "registerCredential"
  | "authenticate"
  | "computerState"
  | "computerDeleted"
  | "computerLost"
>

const computers = ({ store, commits }: Parts): ComputerCalls => ({
  computersToRun: () => computerRows(store).filter((row) => row.desired === "running"),
  computers: () => computerRows(store),
  registerCredential: (computerId, digest) => {
    store.transaction(() => store.tables.links.putCredential(computerId, digest))
  },
  authenticate: (credential) => {
    const digest = sha256Hex(credential)
    const owner = store.tables.links.credentialOwner(digest)
    return owner !== undefined && sameText(owner.digest, digest) ? owner.computerId : undefined
  },
  computerState: (computerId, residency, reason) =>
    commits.persist("computer state", (draft, given) =>
      ok(reportState(draft, { computerId, residency, reason }, given)),
    ),
  computerDeleted: (computerId) =>
    commits.persist("computer deleted", (draft, given) => ok(confirmDeleted(draft, computerId, given))),
  computerLost: (computerId, reason) =>
    commits.persist("computer lost", (draft, given) =>
      ok(loseComputer(draft, { computerId, reason }, given)),
    ),
})

type LinkCalls = Pick<
  Receiver,
  "attach" | "renew" | "detach" | "event" | "admit" | "receipt" | "commandsAfter" | "acknowledge"
>

const links = (parts: Parts): LinkCalls => {
  const { store, ports, commits } = parts
  const admissions = createAdmissions(parts)
  return {
    attach: (computerId, frame) => {
      const attached = commits.now("attach", (draft, given) => attach(draft, { computerId, frame }, given))
      if (attached.ok) {
        const { epoch } = attached.value.lease
        const { version, processes } = frame
        ports.journal.record({
          type: "supervisor_attached",
          computerId,
          epoch,
          version,
          processes: processes.length,
        })
      }
      return attached
    },
    renew: (computerId, epoch) =>
      commits.now("renew", (draft, given) => renew(draft, { computerId, epoch }, given)),
    detach: (computerId, epoch) => {
      commits.persist("detach", (draft) => ok(detach(draft, { computerId, epoch })))
      ports.journal.record({ type: "supervisor_detached", computerId, epoch })
    },
    event: (computerId, epoch, seq, _atMs, event) =>
      commits.now(`event ${event.type}`, (draft, given) =>
        applyReport(draft, { computerId, epoch, seq, event }, { given, journal: ports.journal }),
      ),
    admit: (computerId, epoch, request, signal) => admissions.admit({ computerId, epoch, request }, signal),
    receipt: (computerId, epoch, sessionId, key) =>
      admissions.receipt({ computerId, epoch }, { sessionId, key }),
    commandsAfter: (computerId, seq) =>
      store.tables.links.commandsAfter(computerId, seq, unacknowledgedFramesMax),
    acknowledge: commits.acknowledge,
  }
}

const turns = ({ store, ports, waits }: Parts): Pick<Receiver, "snapshot" | "turn" | "waitTurn"> => ({
  snapshot: () => fleetSnapshot(store, ports.now()),
  turn: (sessionId, turnId) => viewTurn(store, sessionId, turnId),
  waitTurn: async (sessionId, turnId, timeoutMs, signal) => {
    const deadline = ports.now() + timeoutMs
    for (;;) {
      const turn = viewTurn(store, sessionId, turnId)
      if (turn === undefined)
        throw new CodedError(failure("not_found", `Session ${sessionId} has no Turn ${turnId}`))
      if (turn.settledAtMs !== null) return turn
      const how = await waits.wait(turnId, Math.max(deadline - ports.now(), 0), signal)
      if (how === "timeout") return "timeout"
      if (how === "aborted") throw signal.reason
      if (how === "closed")
        throw new CodedError(failure("admission_unavailable", "the control plane is stopping; wait again"))
    }
  },
})

/** Opens the store; a refusal says what is wrong with the file. */
export const createReceiver = (options: ReceiverOptions): Result<Receiver> => {
  const { ports, settings } = options
  const opened = openStore(options.path)
  if (!opened.ok) return opened
  const store = opened.value
  store.transaction(store.tables.computers.forgetAttachments)
  ports.journal.record({ type: "store_opened", path: store.path, version: store.version })

  const waits = createWaits(ports)
  const events = createListeners<FleetEvent>("event", ports.journal)
  const commands = createListeners<ComputerId>("command", ports.journal)
  const tell = (changes: Changes, atMs: number): void => {
    due.consider(changes)
    for (const event of fleetEvents(changes, atMs)) {
      ports.journal.record(event)
      events.tell(event)
    }
    for (const turn of settledTurns(changes)) waits.settled(turn.id)
    for (const id of new Set(changes.commands.map((command) => command.computerId))) commands.tell(id)
  }
  const given = givenOf({ store, ports, settings })
  const commits = createCommits({ store, ports, given, tell })
  const due = createDue({ store, ports, commits, settings })
  const parts: Parts = { store, ports, commits, waits }
  due.run()

  let closing: Promise<void> | undefined
  const close = async (): Promise<void> => {
    due.close()
    commits.flush()
    waits.close()
    commits.close()
    events.clear()
    commands.clear()
    store.close()
  }

  return ok({
    ...publication(parts),
    ...outside(parts),
    ...computers(parts),
    ...links(parts),
    ...turns(parts),
    onEvent: events.subscribe,
    onCommand: commands.subscribe,
    close: () => {
      closing ??= close()
      return closing
    },
  })
}
