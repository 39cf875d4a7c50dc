/**
 * One Computer of the local driver: its directory, its supervisor, and what becomes of both.
 *
 * C1 at most one supervisor of a Computer is started: the intent is on record before it, its identity right after
 * C2 the death of a supervisor that had attached is reported once, after its Session processes are gone
 * C3 a Computer that was lost is not started again by this driver; its record says so until it is deleted
 */
import type { ComputerId } from "@computerd/protocol/ids"
import type { TemplateManifest } from "@computerd/protocol/manifest"
import type { Environment } from "../../environment.ts"
import type { Ports } from "../../ports.ts"
import { removeTree } from "../../publication/content/remove.ts"
import type { ContentStore } from "../../publication/content/store.ts"
import type { Receiver } from "../../receiver/receiver.ts"
import { type SupervisorSettings, writeConfiguration } from "./configuration.ts"
import {
  type ComputerDirectory,
  ensureCredential,
  forgetRecord,
  makeDirectory,
  readRecord,
  type SupervisorRecord,
  writeRecord,
} from "./directory.ts"
import { pendingReason } from "./honour.ts"
import { isAlive, type ProcessIdentity } from "./identity.ts"
import type { Slots } from "./slots.ts"
import { endStrays, findSupervisor } from "./strays.ts"
import { adoptSupervisor, type Supervisor, spawnSupervisor } from "./supervisor.ts"
import { makeWorkspace } from "./workspace.ts"

export interface ComputerDeps extends SupervisorSettings {
  readonly receiver: Pick<Receiver, "registerCredential" | "computerState" | "computerLost">
  readonly ports: Ports
  readonly content: Pick<ContentStore, "layerDirectory">
  readonly slots: Slots
  readonly supervisorCommand: readonly string[]
  readonly environment: Environment
  readonly unenforced: boolean
}

export interface Computer {
  readonly id: ComputerId
  readonly directory: ComputerDirectory
  /** Sees to it that a supervisor runs. Does nothing when one does, when one is being started or when it was lost. */
  readonly run: () => void
  /** Takes over a supervisor that an earlier control plane started; `run` is not needed for that. */
  readonly adopt: () => Promise<void>
  /** Its supervisor has attached. */
  readonly attached: () => void
  /** Ends the supervisor and everything below it. What could not be ended, in words. */
  readonly stop: () => Promise<readonly string[]>
  /** Stops it and removes its directory. */
  readonly remove: () => Promise<readonly string[]>
}

export interface ComputerRecipe {
  readonly id: ComputerId
  readonly directory: ComputerDirectory
  readonly template: TemplateManifest
}

/** From spawn until the supervisor attaches. */
const attachTimeoutMs = 60_000
const startsMax = 5
const firstBackoffMs = 250
/** A supervisor gives its Session processes their grace and flushes what it has; then its tree is killed. */
const stopMaxMs = 15_000
const killMaxMs = 2_000

type Ending =
  /** It had attached: whatever it ran is lost. */
  | { readonly kind: "died"; readonly reason: string }
  | { readonly kind: "not_started"; readonly reason: string }

const messageOf = (error: unknown): string => (error instanceof Error ? error.message : "unknown reason")

export const createComputer = (recipe: ComputerRecipe, deps: ComputerDeps): Computer => {
  const { id, directory, template } = recipe
  const { ports, receiver } = deps
  const ending = new AbortController()
  let supervisor: Supervisor | undefined
  let attachment = Promise.withResolvers<void>()
  let life: Promise<void> | undefined

  const record = (action: string, detail: string): void =>
    ports.journal.record({ type: "driver", computerId: id, action, detail })

  const pause = (delayMs: number): Promise<void> =>
    new Promise((resolve) => {
      const cancel = ports.after(delayMs, resolve)
      ending.signal.addEventListener(
        "abort",
        () => {
          cancel()
          resolve()
        },
        { once: true },
      )
    })

  const within = async <Value>(work: Promise<Value>, limitMs: number): Promise<Value | "late"> => {
    let cancel = (): void => undefined
    const late = new Promise<"late">((resolve) => {
      cancel = ports.after(limitMs, () => resolve("late"))
    })
    try {
      return await Promise.race([work, late])
    } finally {
      cancel()
    }
  }

  const prepare = async (): Promise<void> => {
    await makeDirectory(directory)
    await makeWorkspace({
      workspace: directory.workspace,
      steps: template.image.steps,
      content: deps.content,
      signal: ending.signal,
    })
    await writeConfiguration(id, directory, deps)
    receiver.registerCredential(id, await ensureCredential(directory, ports.randomBytes))
  }

  const spawn = async (): Promise<Supervisor> => {
    attachment = Promise.withResolvers<void>()
    // C1
    await writeRecord(directory, { state: "starting" })
    const started = await spawnSupervisor({ ...deps, command: deps.supervisorCommand, directory })
    supervisor = started
    await writeRecord(directory, { state: "running", process: started.identity })
    record("started", `pid ${started.identity.pid}`)
    return started
  }

  const watch = async (watched: Supervisor): Promise<Ending> => ({
    kind: "died",
    reason: await watched.ended,
  })

  /** One start: until the supervisor is attached and has died, or until it is clear that it does not attach. */
  const attempt = async (): Promise<Ending> => {
    const giveBack = await deps.slots.take(ending.signal)
    try {
      await prepare()
      const started = await spawn()
      const first = await within(
        Promise.race([started.ended, attachment.promise.then(() => undefined)]),
        attachTimeoutMs,
      )
      giveBack()
      if (first === undefined) return await watch(started)
      if (first !== "late") return { kind: "not_started", reason: first }
      await started.signal("SIGKILL")
      return { kind: "not_started", reason: `supervisor did not attach within ${attachTimeoutMs / 1000} s` }
    } catch (error) {
      return { kind: "not_started", reason: messageOf(error) }
    } finally {
      giveBack()
    }
  }

  const report = async (reason: string): Promise<void> => {
    const left = await endStrays(id, ports)
    if (left.length > 0) record("strays", `${left.length} processes could not be ended`)
    await writeRecord(directory, { state: "lost", reason })
    record("lost", reason)
    receiver.computerLost(id, reason)
  }

  /** Recovery by restarting belongs here, in place of the report (C3). */
  const died = async (reason: string): Promise<void> => {
    supervisor?.unwatch()
    if (!ending.signal.aborted) await report(reason)
  }

  const start = async (): Promise<void> => {
    receiver.computerState(id, "starting")
    for (let starts = 1; starts <= startsMax; starts += 1) {
      const end = await attempt()
      if (ending.signal.aborted) return
      if (end.kind === "died") return died(end.reason)
      await endStrays(id, ports)
      await forgetRecord(directory)
      supervisor = undefined
      const last = starts === startsMax
      record("start_failed", end.reason)
      receiver.computerState(
        id,
        "unavailable",
        last ? `${end.reason} (gave up after ${startsMax} starts)` : end.reason,
      )
      if (!last) await pause(firstBackoffMs * 2 ** (starts - 1))
      if (ending.signal.aborted) return
    }
  }

  /** What an earlier control plane started and what lives still. */
  const find = async (known: SupervisorRecord | undefined): Promise<ProcessIdentity | undefined> => {
    if (known?.state === "starting") return findSupervisor(directory.configuration)
    return known?.state === "running" && (await isAlive(known.process)) ? known.process : undefined
  }

  const takeOver = async (process: ProcessIdentity): Promise<void> => {
    receiver.registerCredential(id, await ensureCredential(directory, ports.randomBytes))
    supervisor = adoptSupervisor(process, ports)
    await writeRecord(directory, { state: "running", process })
    record("adopted", `pid ${process.pid}`)
    const end = await watch(supervisor)
    return died(end.reason)
  }

  const live = async (): Promise<void> => {
    const reason = pendingReason(template, deps.unenforced)
    if (reason !== undefined) return receiver.computerState(id, "unavailable", reason)
    const known = await readRecord(directory)
    if (known?.state === "lost") return
    const process = await find(known)
    if (process !== undefined) return takeOver(process)
    return known?.state === "running"
      ? report("supervisor died while the control plane was not running")
      : start()
  }

  const begin = (): void => {
    if (life !== undefined || ending.signal.aborted) return
    life = live().catch((error: unknown) => {
      ports.journal.record({ type: "task_failed", task: `computer ${id}`, message: messageOf(error) })
      receiver.computerState(id, "unavailable", `the local driver failed: ${messageOf(error)}`)
    })
  }

  const endSupervisor = async (running: Supervisor): Promise<readonly string[]> => {
    await running.signal("SIGTERM")
    if ((await within(running.ended, stopMaxMs)) !== "late") return []
    await running.signal("SIGKILL")
    record("killed", `supervisor did not stop within ${stopMaxMs / 1000} s`)
    return (await within(running.ended, killMaxMs)) === "late"
      ? [`supervisor ${running.identity.pid} of ${id} could not be ended`]
      : []
  }

  const stop = async (): Promise<readonly string[]> => {
    ending.abort(new Error("the Computer is stopping"))
    const failures = supervisor === undefined ? [] : await endSupervisor(supervisor)
    supervisor?.unwatch()
    await within(life ?? Promise.resolve(), killMaxMs)
    // A start that was under way when the stop came may have spawned meanwhile.
    const late = supervisor === undefined ? [] : await endSupervisor(supervisor)
    const strays = await endStrays(id, ports)
    const ended = failures.length === 0 && late.length === 0
    if (ended && (await readRecord(directory))?.state !== "lost") {
      await forgetRecord(directory)
      if (supervisor !== undefined) receiver.computerState(id, "cold")
    }
    return [...failures, ...late, ...strays.map(({ pid }) => `process ${pid} of ${id} could not be ended`)]
  }

  return {
    id,
    directory,
    run: begin,
    adopt: async () => {
      if ((await readRecord(directory)) !== undefined) begin()
    },
    attached: () => attachment.resolve(),
    stop,
    remove: async () => {
      const failures = await stop()
      deps.portAllocation.release(id)
      await removeTree(directory.root)
      return failures
    },
  }
}
