/** Builds a receiver over its store: rules decide, commits make durable, waits and listeners are told afterwards. */
import { ok, type Result } from "@computerd/protocol/errors"
import type { ComputerId, SessionId } from "@computerd/protocol/ids"
import type { Ports } from "../ports.ts"
import type { Settings } from "../rules/given.ts"
import { progress } from "../rules/progress.ts"
import { openStore, type Store } from "../store/open.ts"
import { computers, outside, publication } from "./calls.ts"
import { createCommits, settledTurns, type Told } from "./commits.ts"
import { createDue } from "./due.ts"
import type { FleetEvent } from "./fleet.ts"
import { createApiKeys } from "./keys.ts"
import { links } from "./links.ts"
import { createListeners } from "./listeners.ts"
import { outsideCalls } from "./outside/outside.ts"
import type { Parts } from "./parts.ts"
import type { Receiver } from "./receiver.ts"
import { givenOf } from "./seals.ts"
import { createSteps } from "./steps.ts"
import { fleetEvents } from "./told.ts"
import { views } from "./views.ts"
import { createWaits } from "./waits.ts"

export interface ReceiverOptions {
  /** The SQLite file; its directory exists. */
  readonly path: string
  readonly ports: Ports
  readonly settings: Settings
}

/** The limit may be another one than before the restart. */
const reconsiderRoom = ({ store, commits }: Parts): void => {
  const resting = store.tables.computers.all().filter((computer) => computer.desired !== "running")
  if (resting.length === 0) return
  commits.now("due", (draft, given) => {
    for (const computer of resting) draft.touchComputer(computer.id)
    progress(draft, given)
    return ok(undefined)
  })
}

/** Opens the store; a refusal says what is wrong with the file. */
export const createReceiver = (options: ReceiverOptions): Result<Receiver> => {
  const opened = openStore(options.path)
  return opened.ok ? ok(receiverOver(opened.value, options)) : opened
}

/** Takes the store over; it is closed with the receiver. */
export const receiverOver = (store: Store, options: Omit<ReceiverOptions, "path">): Receiver => {
  const { ports, settings } = options
  ports.reach("store.migrated")
  store.transaction(() => store.tables.computers.forgetAttachments(ports.now() + settings.leaseMs))
  ports.journal.record({ type: "store_opened", path: store.path, version: store.version })

  const waits = createWaits(ports)
  const events = createListeners<FleetEvent>("event", ports.journal)
  const commands = createListeners<ComputerId>("command", ports.journal)
  const history = createListeners<ReadonlySet<SessionId>>("history", ports.journal)
  const keys = createApiKeys({ store, ports })
  const tell = ({ changes, atMs, roots }: Told): void => {
    due.consider(changes)
    for (const event of fleetEvents(changes, atMs)) {
      ports.journal.record(event)
      events.tell(event)
    }
    for (const turn of settledTurns(changes)) waits.settled(turn.id)
    for (const id of new Set(changes.commands.map((command) => command.computerId))) commands.tell(id)
    if (roots.size > 0) history.tell(roots)
  }
  const given = givenOf({ store, ports, settings })
  const followClock = createSteps({ store, ports, moved: (byMs) => due.moved(byMs) })
  const commits = createCommits({ store, ports, given, followClock, tell })
  const due = createDue({ store, ports, commits, followClock, settings })
  const parts: Parts = { store, ports, commits, waits }
  reconsiderRoom(parts)
  due.run()

  let closing: Promise<void> | undefined
  const close = async (): Promise<void> => {
    due.close()
    commits.flush()
    waits.close()
    commits.close()
    keys.close()
    history.clear()
    events.clear()
    commands.clear()
    store.close()
  }

  return {
    ...publication(parts),
    ...outside(parts),
    ...computers(parts),
    ...links(parts),
    ...views(parts),
    outside: outsideCalls(parts),
    keys,
    onHistory: history.subscribe,
    onEvent: events.subscribe,
    onCommand: commands.subscribe,
    close: () => {
      closing ??= close()
      return closing
    },
  }
}
