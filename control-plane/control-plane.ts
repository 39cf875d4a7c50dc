/**
 * A control plane: receiver, publication, local driver, link and operator socket over one state directory. The parts are
 * made in order, each with its closer; `close` runs the closers in reverse, each bounded, and reports what failed.
 */
import { join } from "node:path"
import { fail, ok, type Result } from "@computerd/protocol/errors"
import type { ComputerId } from "@computerd/protocol/ids"
import { type ApiListen, type ApiServer, openApiServer } from "./api/server.ts"
import type { ApiSettings } from "./api/settings.ts"
import { type Closers, createClosers } from "./closers.ts"
import type { Reach } from "./crash-points.ts"
import { createLocalDriver, type LocalDriver } from "./drivers/local/local.ts"
import type { Environment } from "./environment.ts"
import { openOperatorServer } from "./http/server.ts"
import type { Journal } from "./journal.ts"
import type { LinkServer } from "./link/server.ts"
import { listen } from "./listen.ts"
import { lockStateDirectory } from "./lock.ts"
import { type Ports, systemPorts } from "./ports.ts"
import type { FallbackModules } from "./publication/bundle/bundle.ts"
import { type ContentStore, openContentStore } from "./publication/content/store.ts"
import { type Ceiling, parseCeiling } from "./publication/network/reach.ts"
import { createPublisher, type Publish } from "./publisher.ts"
import { createReceiver } from "./receiver/create.ts"
import type { Receiver } from "./receiver/receiver.ts"
import { defaultSettings } from "./receiver/settings.ts"
import type { Settings } from "./rules/given.ts"
import { prepareStateDirectory } from "./state-directory.ts"

export interface ControlPlaneOptions {
  readonly stateDirectory: string
  /** Port 0: the one that was used before, or one outside the kernel's ephemeral range. */
  readonly listen: { readonly hostname: string; readonly port: number }
  /** `run --config FILE` is appended. */
  readonly supervisorCommand: readonly string[]
  readonly sessionHostCommand: readonly string[]
  /** The bundle and the output file are appended. */
  readonly describeCommand: readonly string[]
  readonly local: {
    /** Supervisors end with this process. */
    readonly lifeline: boolean
    /** How long a supervisor that died is started anew before its Computer is lost; 100 s unless it is said. */
    readonly reviveMs?: number
  }
  readonly fallbackModules: FallbackModules
  /** Run Templates whose network or secrets nobody enforces here. */
  readonly unenforced: boolean
  /** Private ranges that Templates may name in their network policies, such as 10.60.0.0/16. Absent: none. */
  readonly privateRanges?: readonly string[]
  /** How many Computers of one Environment may run at once; idle ones are parked for others. Absent: no limit. */
  readonly capacity?: number
  /** What child processes start with; see `baseEnvironment`. */
  readonly environment: Environment
  readonly journal: Journal
  readonly settings?: Partial<Settings>
  /** Told of every crash point; a test may let this process die there. */
  readonly reach?: Reach
  /** Absent: there is no public API. */
  readonly api?: ApiOptions
}

/** Where the public API listens, and its bounds where they are not the usual ones. */
export interface ApiOptions {
  readonly listen: ApiListen
  readonly settings?: Partial<ApiSettings>
}

export interface ControlPlane
  extends Pick<Receiver, "startSession" | "control" | "snapshot" | "turn" | "waitTurn" | "onEvent" | "keys"> {
  readonly url: string
  readonly stateDirectory: string
  readonly operatorSocket: string
  /** Where the public API listens, if it does. */
  readonly apiUrl?: string
  readonly publish: Publish
  /** Ends every Computer of the local driver and closes everything; what failed, in words. */
  readonly close: () => Promise<readonly string[]>
}

/** Within the time after which a Session process that hears nothing ends itself. */
const reviveDefaultMs = 100_000
/** Beyond every bound of its own that a part keeps. */
const driverCloseMaxMs = 30_000

const messageOf = (error: unknown): string => (error instanceof Error ? error.message : "unknown reason")

const settingsOf = ({ settings, capacity }: ControlPlaneOptions): Settings => {
  const chosen = { ...defaultSettings, ...settings }
  if (capacity === undefined) return chosen
  return {
    ...chosen,
    environments: (environment) => ({ ...chosen.environments(environment), runningComputersMax: capacity }),
  }
}

interface Built {
  readonly stateDirectory: string
  readonly receiver: Receiver
  readonly content: ContentStore
  readonly link: LinkServer
  readonly driver: LocalDriver
  readonly ports: Ports
  readonly ceiling: Ceiling
}

const build = async (options: ControlPlaneOptions, closers: Closers): Promise<Result<Built>> => {
  const ceiling = parseCeiling(options.privateRanges ?? [])
  if (!ceiling.ok) return ceiling
  const ports = systemPorts(options.journal, options.reach)
  const prepared = await prepareStateDirectory(options.stateDirectory)
  if (!prepared.ok) return prepared
  const stateDirectory = prepared.value
  const lock = lockStateDirectory(stateDirectory)
  if (!lock.ok) return lock
  closers.add("state directory lock", () => lock.value.release())
  const settings = settingsOf(options)
  const receiver = createReceiver({ path: join(stateDirectory, "control-plane.sqlite"), ports, settings })
  if (!receiver.ok) return receiver
  closers.add("receiver", () => receiver.value.close())
  const content = await openContentStore(stateDirectory, () => ports.newId("req"))
  let driver: LocalDriver | undefined
  const attached = (computerId: ComputerId): void => driver?.attached(computerId)
  const link = await listen({
    listen: options.listen,
    stateDirectory,
    receiver: receiver.value,
    content,
    ports,
    attached,
  })
  if (!link.ok) return link
  closers.add("link", () => link.value.close())
  driver = await createLocalDriver({
    ...options,
    receiver: receiver.value,
    ports,
    content,
    stateDirectory,
    controlPlaneUrl: link.value.url,
    lifeline: options.local.lifeline,
    reviveMs: options.local.reviveMs ?? reviveDefaultMs,
    disconnect: link.value.park,
  })
  closers.add("local driver", driver.close, driverCloseMaxMs)
  const parts = { receiver: receiver.value, content, link: link.value, driver, ports }
  return ok({ stateDirectory, ...parts, ceiling: ceiling.value })
}

/** Every change of a Computer is compared once with what runs, however many events told of it. */
const followComputers = ({ receiver, driver, ports }: Built): (() => void) => {
  let due = false
  const look = (): void => {
    due = false
    try {
      driver.reconcile()
    } catch (error) {
      ports.journal.record({ type: "task_failed", task: "reconcile Computers", message: messageOf(error) })
    }
  }
  const unsubscribe = receiver.onEvent((event) => {
    if (event.type !== "computer_changed" || due) return
    due = true
    ports.soon(look)
  })
  look()
  return unsubscribe
}

/** `undefined` when nobody asked for it. */
const openApi = (
  { api }: ControlPlaneOptions,
  { receiver, content, ports }: Built,
  publish: Publish,
): Result<ApiServer | undefined> =>
  api === undefined ? ok(undefined) : openApiServer({ ...api, receiver, content, publish, ports })

const assemble = (options: ControlPlaneOptions, built: Built, closers: Closers): Result<ControlPlane> => {
  const { receiver, link, stateDirectory } = built
  const publisher = createPublisher({ ...options, ...built })
  closers.add("publications", publisher.close)
  const { publish } = publisher
  const { startSession, control, snapshot, turn, waitTurn, onEvent, keys } = receiver
  const operator = openOperatorServer(stateDirectory, {
    publish: ({ directory, environment, variables }) => publish(directory, { environment, variables }),
    startSession,
    snapshot,
    turn,
    waitTurn,
    keys,
  })
  if (!operator.ok) return operator
  closers.add("operator socket", operator.value.close)
  const api = openApi(options, built, publish)
  if (!api.ok) return api
  if (api.value !== undefined) closers.add("public API", api.value.close)
  closers.add("Computers", followComputers(built))
  const { socketPath: operatorSocket } = operator.value
  const { url } = link
  const calls = { startSession, control, snapshot, turn, waitTurn, onEvent, keys }
  const listening = api.value === undefined ? {} : { apiUrl: api.value.url }
  return ok({ ...calls, ...listening, url, stateDirectory, operatorSocket, publish, close: closers.close })
}

export const createControlPlane = async (options: ControlPlaneOptions): Promise<Result<ControlPlane>> => {
  const closers = createClosers()
  try {
    const built = await build(options, closers)
    const assembled = built.ok ? assemble(options, built.value, closers) : built
    if (!assembled.ok) await closers.close()
    return assembled
  } catch (error) {
    await closers.close()
    return fail("store_unavailable", `the control plane cannot start: ${messageOf(error)}`)
  }
}
