/**
 * A control plane: receiver, publication, local driver, link and operator socket over one state directory. The parts are
 * made in order, each with its closer; `close` runs the closers in reverse, each bounded, and reports what failed.
 */
import { chmod, mkdir, realpath } from "node:fs/promises"
import { join } from "node:path"
import { CodedError, fail, failure, ok, type Result } from "@computerd/protocol/errors"
import type { DeploymentId } from "@computerd/protocol/ids"
import { type ComputerId, EnvironmentKey } from "@computerd/protocol/ids"
import { candidatePorts, recallAddress, rememberAddress } from "./address.ts"
import { type Closers, createClosers } from "./closers.ts"
import { localNotices } from "./drivers/local/honour.ts"
import { createLocalDriver, hasLivingSupervisors, type LocalDriver } from "./drivers/local/local.ts"
import type { Environment } from "./environment.ts"
import { openOperatorServer } from "./http/server.ts"
import type { Journal } from "./journal.ts"
import { type LinkServer, serveLink } from "./link/server.ts"
import { lockStateDirectory } from "./lock.ts"
import { type Ports, systemPorts } from "./ports.ts"
import type { FallbackModules } from "./publication/bundle/bundle.ts"
import { type ContentStore, openContentStore } from "./publication/content/store.ts"
import { publishProgram } from "./publication/publish.ts"
import { createReceiver } from "./receiver/create.ts"
import type { Receiver } from "./receiver/receiver.ts"
import { defaultSettings } from "./receiver/settings.ts"
import type { Settings } from "./rules/given.ts"

export interface ControlPlaneOptions {
  readonly stateDirectory: string
  /** Port 0: the one that was used before, or one outside the kernel's ephemeral range. */
  readonly listen: { readonly hostname: string; readonly port: number }
  /** `run --config FILE` is appended. */
  readonly supervisorCommand: readonly string[]
  readonly sessionHostCommand: readonly string[]
  /** The bundle and the output file are appended. */
  readonly describeCommand: readonly string[]
  readonly local: { readonly lifeline: boolean }
  readonly fallbackModules: FallbackModules
  /** Run Templates whose network or secrets nobody enforces here. */
  readonly unenforced: boolean
  /** What child processes start with; see `baseEnvironment`. */
  readonly environment: Environment
  readonly journal: Journal
  readonly settings?: Partial<Settings>
}

export interface PublishOptions {
  readonly environment?: string
  /** Of the process that loads the program at publication. */
  readonly variables?: Readonly<Record<string, string>>
  /** Gives up: nothing is published, and nothing of it runs any more when the answer comes. */
  readonly signal?: AbortSignal
}

export interface ControlPlane
  extends Pick<Receiver, "startSession" | "control" | "snapshot" | "turn" | "waitTurn" | "onEvent"> {
  readonly url: string
  readonly stateDirectory: string
  readonly operatorSocket: string
  readonly publish: (
    directory: string,
    options?: PublishOptions,
  ) => Promise<Result<{ readonly deploymentId: DeploymentId; readonly notices: string[] }>>
  /** Ends every Computer of the local driver and closes everything; what failed, in words. */
  readonly close: () => Promise<readonly string[]>
}

/** Beyond every bound of its own that a part keeps. */
const driverCloseMaxMs = 30_000
const defaultEnvironment = "default"

const messageOf = (error: unknown): string => (error instanceof Error ? error.message : "unknown reason")

const prepareStateDirectory = async (given: string): Promise<Result<string>> => {
  try {
    await mkdir(given, { recursive: true, mode: 0o700 })
    await chmod(given, 0o700)
    return ok(await realpath(given))
  } catch (error) {
    return fail(
      "invalid_configuration",
      `the state directory ${given} cannot be used: ${messageOf(error)}`,
      "stateDirectory",
    )
  }
}

interface LinkParts {
  readonly options: ControlPlaneOptions
  readonly stateDirectory: string
  readonly receiver: Receiver
  readonly content: ContentStore
  readonly ports: Ports
  readonly attached: (computerId: ComputerId) => void
}

const portsToTry = async ({ options, stateDirectory }: LinkParts): Promise<readonly number[]> => {
  const { hostname, port } = options.listen
  if (port !== 0) return [port]
  const known = await recallAddress(stateDirectory)
  const fresh = await candidatePorts(stateDirectory)
  if (known?.hostname !== hostname) return fresh
  // Living supervisors look for this address only.
  return (await hasLivingSupervisors(stateDirectory)) ? [known.port] : [known.port, ...fresh]
}

const listen = async (parts: LinkParts): Promise<Result<LinkServer>> => {
  let last = fail("invalid_configuration", "no port is free for the control plane's link", "listen.port")
  for (const port of await portsToTry(parts)) {
    const served = serveLink({ ...parts, listen: { hostname: parts.options.listen.hostname, port } })
    if (served.ok) {
      await rememberAddress(parts.stateDirectory, {
        hostname: parts.options.listen.hostname,
        port: served.value.port,
      })
      return served
    }
    last = served
  }
  return last
}

interface Built {
  readonly stateDirectory: string
  readonly receiver: Receiver
  readonly content: ContentStore
  readonly link: LinkServer
  readonly driver: LocalDriver
  readonly ports: Ports
}

const build = async (options: ControlPlaneOptions, closers: Closers): Promise<Result<Built>> => {
  const ports = systemPorts(options.journal)
  const prepared = await prepareStateDirectory(options.stateDirectory)
  if (!prepared.ok) return prepared
  const stateDirectory = prepared.value
  const lock = lockStateDirectory(stateDirectory)
  if (!lock.ok) return lock
  closers.add("state directory lock", () => lock.value.release())
  const settings = { ...defaultSettings, ...options.settings }
  const receiver = createReceiver({ path: join(stateDirectory, "control-plane.sqlite"), ports, settings })
  if (!receiver.ok) return receiver
  closers.add("receiver", () => receiver.value.close())
  const content = await openContentStore(stateDirectory, () => ports.newId("req"))
  let driver: LocalDriver | undefined
  const attached = (computerId: ComputerId): void => driver?.attached(computerId)
  const link = await listen({ options, stateDirectory, receiver: receiver.value, content, ports, attached })
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
  })
  closers.add("local driver", driver.close, driverCloseMaxMs)
  return ok({ stateDirectory, receiver: receiver.value, content, link: link.value, driver, ports })
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

const publisher = (options: ControlPlaneOptions, built: Built): ControlPlane["publish"] => {
  const { receiver, content, ports, stateDirectory } = built
  return async (directory, { environment = defaultEnvironment, variables = {}, signal } = {}) => {
    const key = EnvironmentKey.safeParse(environment)
    if (!key.success)
      return fail("invalid_arguments", `environment ${key.error.issues[0]?.message}`, "environment")
    const published = await publishProgram(directory, variables, {
      ...options,
      content,
      ports,
      stateDirectory,
      signal,
    })
    if (!published.ok) return published
    const { manifest, notices } = published.value
    try {
      const { deploymentId } = receiver.addDeployment(key.data, manifest)
      return ok({ deploymentId, notices: [...notices, ...localNotices(manifest, options.unenforced)] })
    } catch (error) {
      if (!(error instanceof CodedError)) throw error
      return { ok: false, error: failure(error.code, error.message, error.field) }
    }
  }
}

const assemble = (options: ControlPlaneOptions, built: Built, closers: Closers): Result<ControlPlane> => {
  const { receiver, link, stateDirectory } = built
  const publish = publisher(options, built)
  const { startSession, control, snapshot, turn, waitTurn, onEvent } = receiver
  const operator = openOperatorServer(stateDirectory, {
    publish: ({ directory, environment, variables }) => publish(directory, { environment, variables }),
    startSession,
    snapshot,
    turn,
    waitTurn,
  })
  if (!operator.ok) return operator
  closers.add("operator socket", operator.value.close)
  closers.add("Computers", followComputers(built))
  const { socketPath: operatorSocket } = operator.value
  const { url } = link
  const calls = { startSession, control, snapshot, turn, waitTurn, onEvent }
  return ok({ ...calls, url, stateDirectory, operatorSocket, publish, close: closers.close })
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
