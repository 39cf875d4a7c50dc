/**
 * Starts a Computer's supervisor: directory, workspace, configuration and credential first, then the process, until it
 * has attached. An attempt always ends in one of the outcomes below and leaves no process behind that did not attach.
 */
import type { ComputerId } from "@computerd/protocol/ids"
import type { TemplateManifest } from "@computerd/protocol/manifest"
import type { Environment } from "../../environment.ts"
import type { Ports } from "../../ports.ts"
import type { ContentStore } from "../../publication/content/store.ts"
import type { Receiver } from "../../receiver/receiver.ts"
import type { Slots } from "../../slots.ts"
import { type SupervisorSettings, writeConfiguration } from "./configuration.ts"
import { type ComputerDirectory, ensureCredential, makeDirectory, writeRecord } from "./directory.ts"
import { type Supervisor, spawnSupervisor } from "./supervisor.ts"
import { within } from "./wait.ts"
import { makeWorkspace } from "./workspace.ts"

export interface StartDeps extends SupervisorSettings {
  readonly receiver: Pick<Receiver, "registerCredential">
  readonly ports: Ports
  readonly content: Pick<ContentStore, "layerDirectory">
  readonly slots: Slots
  readonly supervisorCommand: readonly string[]
  readonly environment: Environment
}

export interface ComputerRecipe {
  readonly id: ComputerId
  readonly directory: ComputerDirectory
  readonly template: TemplateManifest
}

export interface StartHooks {
  /** Ends the attempt between its steps. */
  readonly signal: AbortSignal
  /** There is a process now, attached or not. */
  readonly spawned: (supervisor: Supervisor) => void
  /** Resolves when the link says that the supervisor has attached. */
  readonly attached: Promise<void>
}

export type StartOutcome =
  | { readonly kind: "attached"; readonly supervisor: Supervisor }
  | { readonly kind: "failed"; readonly reason: string }

/** From spawn until the supervisor attaches. */
const attachTimeoutMs = 60_000

const prepare = async (recipe: ComputerRecipe, signal: AbortSignal, deps: StartDeps): Promise<void> => {
  const { id, directory, template } = recipe
  await makeDirectory(directory)
  const { workspace } = directory
  await makeWorkspace({ workspace, steps: template.image.steps, content: deps.content, signal })
  deps.ports.reach("workspace.made")
  await writeConfiguration(id, directory, deps)
  deps.ports.reach("configuration.written")
  deps.receiver.registerCredential(id, await ensureCredential(directory, deps.ports.randomBytes))
}

const spawn = async ({ directory }: ComputerRecipe, deps: StartDeps): Promise<Supervisor> => {
  await writeRecord(directory, { state: "starting" })
  deps.ports.reach("supervisor.before_spawn")
  const supervisor = await spawnSupervisor({ ...deps, command: deps.supervisorCommand, directory })
  deps.ports.reach("supervisor.after_spawn")
  return supervisor
}

const record = async (
  { id, directory }: ComputerRecipe,
  supervisor: Supervisor,
  deps: StartDeps,
): Promise<void> => {
  await writeRecord(directory, { state: "running", process: supervisor.identity })
  deps.ports.reach("supervisor.recorded")
  const detail = `pid ${supervisor.identity.pid}`
  deps.ports.journal.record({ type: "driver", computerId: id, action: "started", detail })
}

const awaitAttachment = async (
  supervisor: Supervisor,
  attached: Promise<void>,
  deps: StartDeps,
): Promise<StartOutcome> => {
  const first = await within(
    Promise.race([supervisor.ended, attached.then(() => undefined)]),
    attachTimeoutMs,
    deps.ports,
  )
  if (first === undefined) return { kind: "attached", supervisor }
  if (first !== "late") return { kind: "failed", reason: first }
  await supervisor.signal("SIGKILL")
  return { kind: "failed", reason: `supervisor did not attach within ${attachTimeoutMs / 1000} s` }
}

export const startSupervisor = async (
  recipe: ComputerRecipe,
  hooks: StartHooks,
  deps: StartDeps,
): Promise<StartOutcome> => {
  let giveBack = (): void => undefined
  let supervisor: Supervisor | undefined
  try {
    giveBack = await deps.slots.take(hooks.signal)
    await prepare(recipe, hooks.signal, deps)
    hooks.signal.throwIfAborted()
    supervisor = await spawn(recipe, deps)
    hooks.spawned(supervisor)
    await record(recipe, supervisor, deps)
    return await awaitAttachment(supervisor, hooks.attached, deps)
  } catch (error) {
    await supervisor?.signal("SIGKILL")
    return { kind: "failed", reason: error instanceof Error ? error.message : "unknown reason" }
  } finally {
    giveBack()
  }
}
