/**
 * One Computer of the local driver: its directory, its supervisor, and what becomes of both.
 *
 * C1 at most one supervisor of a Computer is started: the intent is on record before it, its identity right after
 * C2 a supervisor that died is started again on its directory, where its Session processes wait for it; only when it
 *    cannot be brought back is the Computer lost, once its processes are gone, and reported once
 * C3 a Computer that was lost is not started again by this driver; its record says so until it is deleted
 * C4 its directory and its ports are given back only once nothing of it runs: whoever outlived that would be nobody's
 */
import type { ComputerId } from "@computerd/protocol/ids"
import { removeTree } from "../../publication/content/remove.ts"
import type { Receiver } from "../../receiver/receiver.ts"
import {
  type ComputerDirectory,
  ensureCredential,
  forgetRecord,
  readRecord,
  type SupervisorRecord,
  writeRecord,
} from "./directory.ts"
import { endSupervisor } from "./end.ts"
import { thaw, thawSessions } from "./freeze.ts"
import { pendingReason } from "./honour.ts"
import { isAlive, type ProcessIdentity } from "./identity.ts"
import { createParking, type Parking, type Wanted } from "./park.ts"
import { afterDeath, type Restart } from "./restarts.ts"
import { type ComputerRecipe, type StartDeps, type StartOutcome, startSupervisor } from "./start.ts"
import { endStrays, findSupervisor } from "./strays.ts"
import { adoptSupervisor, type Supervisor } from "./supervisor.ts"
import { pause, within } from "./wait.ts"

export interface ComputerDeps extends StartDeps {
  readonly receiver: Pick<Receiver, "registerCredential" | "computerState" | "computerLost">
  readonly unenforced: boolean
  /** How long a supervisor that died is started anew before its Computer is lost; its disk may be full for a while. */
  readonly reviveMs: number
  /** Ends the connection of a Computer that is parked. */
  readonly disconnect: (computerId: ComputerId) => void
}

export interface Computer {
  readonly id: ComputerId
  readonly directory: ComputerDirectory
  /** Sees to it that a supervisor runs. Does nothing when one does, when one is being started or when it was lost. */
  readonly run: () => void
  /** Freezes what runs; does nothing when nothing does. */
  readonly park: () => void
  /** Takes over what an earlier control plane started, if it did. */
  readonly adopt: () => Promise<void>
  /** Its supervisor has attached. */
  readonly attached: () => void
  /** Ends the supervisor and everything below it. What could not be ended, in words. */
  readonly stop: () => Promise<readonly string[]>
  /** C4: stops it and, unless something could not be ended, removes its directory. May be tried again. */
  readonly remove: () => Promise<readonly string[]>
}

type Found = "running" | "unsure"

/** Of a Computer that has never run: nothing waits for it but a queue. */
const startsMax = 5
const firstBackoffMs = 250
const backoffMaxMs = 5_000
/** For a life that has nothing left to wait for, and for a start that takes time to notice. */
const settleMaxMs = 2_000
const startEndMaxMs = 5_000

const messageOf = (error: unknown): string => (error instanceof Error ? error.message : "unknown reason")

export const createComputer = (recipe: ComputerRecipe, deps: ComputerDeps): Computer => {
  const { id, directory, template } = recipe
  const { ports, receiver } = deps
  const ending = new AbortController()
  let supervisor: Supervisor | undefined
  let attachment = Promise.withResolvers<void>()
  let life: Promise<void> | undefined
  let parking: Parking | undefined
  let wanted: Wanted | undefined

  const whose = { id, configuration: directory.configuration }

  const note = (action: string, detail: string): void =>
    ports.journal.record({ type: "driver", computerId: id, action, detail })

  const spawned = (started: Supervisor): void => {
    supervisor = started
  }

  /** C2 C3 */
  const lose = async (reason: string): Promise<void> => {
    for (const left of await endStrays(whose, ports)) note("strays", left)
    note("lost", reason)
    // Reported first: a report that fails is made again by the next control plane.
    receiver.computerLost(id, reason)
    await writeRecord(directory, { state: "lost", reason })
  }

  /** Parks and wakes it as the receiver wants, until it dies; answers with how. */
  const watch = async (running: Supervisor, found: Found): Promise<string> => {
    const remember = (record: SupervisorRecord): Promise<void> => writeRecord(directory, record)
    const disconnect = (): void => deps.disconnect(id)
    const what = { id, supervisor: running.identity }
    parking = createParking(what, found, { ...deps, remember, disconnect, note })
    if (wanted !== undefined) parking.want(wanted)
    const reason = await running.ended
    await parking.close()
    return reason
  }

  /** A supervisor that has attached, or why none could be had. `again` hears of each failed start and decides on another. */
  const attempt = async (again: (starts: number, reason: string) => boolean): Promise<StartOutcome> => {
    for (let starts = 1; ; starts += 1) {
      attachment = Promise.withResolvers<void>()
      const hooks = { signal: ending.signal, spawned, attached: attachment.promise }
      const outcome = await startSupervisor(recipe, hooks, deps)
      if (outcome.kind === "attached" || ending.signal.aborted) return outcome
      note("start_failed", outcome.reason)
      if (!again(starts, outcome.reason))
        return { kind: "failed", reason: `${outcome.reason} (gave up after ${starts} starts)` }
      await pause(Math.min(firstBackoffMs * 2 ** (starts - 1), backoffMaxMs), ending.signal, ports)
    }
  }

  /** C2: after a death; answers with the next supervisor, or why there is none. */
  const revive = async (died: string, restart: Restart): Promise<StartOutcome> => {
    if (restart.do === "give_up")
      return { kind: "failed", reason: `${died} (its ${restart.deaths}th death within a minute)` }
    note("restarting", died)
    await pause(restart.delayMs, ending.signal, ports)
    const untilMs = ports.runningMs() + deps.reviveMs
    const outcome = await attempt(() => ports.runningMs() < untilMs)
    if (outcome.kind === "attached") return outcome
    return { kind: "failed", reason: `${died}; it could not be started again: ${outcome.reason}` }
  }

  /** Brings it back as often as it dies, until it cannot be. */
  const reviveAfter = async (died: string): Promise<void> => {
    let deaths: readonly number[] = []
    for (let reason = died; !ending.signal.aborted; ) {
      const restart = afterDeath(deaths, ports.now())
      const outcome = await revive(reason, restart)
      if (ending.signal.aborted) return
      if (outcome.kind === "failed") return lose(outcome.reason)
      deaths = restart.do === "start" ? restart.deaths : deaths
      // The one that died may have been parked; if this one is to be, it will be.
      await thawSessions({ id, supervisor: outcome.supervisor.identity })
      reason = await watch(outcome.supervisor, "running")
    }
  }

  const follow = async (running: Supervisor, found: Found): Promise<void> =>
    reviveAfter(await watch(running, found))

  const unavailable = (reason: string): void => receiver.computerState(id, "unavailable", reason)

  const start = async (): Promise<void> => {
    receiver.computerState(id, "starting")
    const outcome = await attempt((starts, reason) => {
      if (starts < startsMax) unavailable(reason)
      return starts < startsMax
    })
    if (outcome.kind === "attached") return follow(outcome.supervisor, "running")
    if (ending.signal.aborted) return
    await endStrays(whose, ports)
    await forgetRecord(directory)
    unavailable(outcome.reason)
  }

  const takeOver = async (process: ProcessIdentity, found: Found): Promise<void> => {
    receiver.registerCredential(id, await ensureCredential(directory, ports.randomBytes))
    supervisor = adoptSupervisor(process, ports)
    if (found === "running") await writeRecord(directory, { state: "running", process })
    note("adopted", `pid ${process.pid}`)
    await follow(supervisor, found)
  }

  /** What an earlier control plane started and what lives still (C1). */
  const find = async (known: SupervisorRecord | undefined): Promise<ProcessIdentity | undefined> => {
    if (known?.state === "starting") return findSupervisor(directory.configuration)
    if (known?.state !== "running" && known?.state !== "parked") return undefined
    return (await isAlive(known.process)) ? known.process : undefined
  }

  /** What ran while policies were allowed to go unenforced does not go on when they are not. */
  const forbid = async (process: ProcessIdentity | undefined, reason: string): Promise<void> => {
    if (process === undefined) return receiver.computerState(id, "unavailable", reason)
    supervisor = adoptSupervisor(process, ports)
    await thaw({ id, supervisor: process })
    await endSupervisor(supervisor, { ports, note })
    await endStrays(whose, ports)
    await forgetRecord(directory)
    receiver.computerLost(id, reason)
  }

  const live = async (): Promise<void> => {
    const known = await readRecord(directory)
    const process = await find(known)
    const reason = pendingReason(template, deps.unenforced)
    if (reason !== undefined) return forbid(process, reason)
    if (process !== undefined) return takeOver(process, known?.state === "parked" ? "unsure" : "running")
    if (known?.state === "running" || known?.state === "parked")
      return reviveAfter("supervisor died while the control plane was not running")
    if (known?.state !== "lost") await start()
  }

  const want = (next: Wanted): void => {
    wanted = next
    parking?.want(next)
  }

  const begin = (): void => {
    if (life !== undefined || ending.signal.aborted) return
    life = live().catch((error: unknown) => {
      ports.journal.record({ type: "task_failed", task: `Computer ${id}`, message: messageOf(error) })
    })
  }

  /** What had begun is over. Why it is not, in words. */
  const settle = async (): Promise<readonly string[]> => {
    const lived = life ?? Promise.resolve()
    const early = supervisor
    const failures = early === undefined ? [] : [...(await endSupervisor(early, { ports, note }))]
    if ((await within(lived, settleMaxMs, ports)) !== "late" && supervisor === early) return failures
    // A start that was under way when the stop came may have spawned meanwhile; then its end ends the start.
    if (supervisor !== undefined && supervisor !== early)
      failures.push(...(await endSupervisor(supervisor, { ports, note })))
    const late = (await within(lived, startEndMaxMs, ports)) === "late"
    return late ? [...failures, `what was under way on ${id} could not be ended`] : failures
  }

  const stop = async (): Promise<readonly string[]> => {
    ending.abort(new Error("the Computer is stopping"))
    await parking?.release()
    const failures = [...(await settle()), ...(await endStrays(whose, ports))]
    if (failures.length > 0) return failures
    supervisor?.unwatch()
    if ((await readRecord(directory))?.state === "lost") return []
    await forgetRecord(directory)
    if (supervisor !== undefined) receiver.computerState(id, "cold")
    return []
  }

  return {
    id,
    directory,
    run: () => {
      want("running")
      begin()
    },
    park: () => want("parked"),
    adopt: async () => {
      if ((await readRecord(directory)) !== undefined) begin()
    },
    attached: () => {
      attachment.resolve()
      parking?.attached()
    },
    stop,
    remove: async () => {
      const failures = await stop()
      if (failures.length > 0) return failures
      deps.portAllocation.release(id)
      ports.reach("computer.before_removal")
      await removeTree(directory.root)
      ports.reach("computer.removed")
      return []
    },
  }
}
