/**
 * The local driver: every Computer is a child `computerd run` on this machine. It reads what the receiver wants,
 * brings it about, and reports what became of it.
 */
import { readdir } from "node:fs/promises"
import { join } from "node:path"
import { ComputerId } from "@computerd/protocol/ids"
import type { Receiver } from "../../receiver/receiver.ts"
import { createSlots } from "../../slots.ts"
import { type Computer, type ComputerDeps, createComputer } from "./computer.ts"
import { computerDirectory, readConfiguration, readRecord } from "./directory.ts"
import { isAlive } from "./identity.ts"
import { boundLog } from "./log-file.ts"
import { createPortAllocation } from "./port-allocation.ts"
import { removeForGood } from "./removal.ts"

export interface LocalDriver {
  /** Compares what is wanted with what there is; call it after every change of a Computer. */
  readonly reconcile: () => void
  readonly attached: (computerId: ComputerId) => void
  /** Ends every supervisor and all that runs below it. What could not be ended, in words. */
  readonly close: () => Promise<readonly string[]>
}

export interface LocalDriverDeps extends Omit<ComputerDeps, "portAllocation" | "slots" | "receiver"> {
  readonly receiver: Pick<
    Receiver,
    "computers" | "registerCredential" | "computerState" | "computerLost" | "computerDeleted"
  >
  readonly stateDirectory: string
}

/** Making a Computer is disk and processor work; more at once only makes each slower. */
const makeAtOnce = 8
const logLookMs = 10_000

const knownDirectories = async (stateDirectory: string): Promise<readonly ComputerId[]> => {
  const names = await readdir(join(stateDirectory, "computers")).catch(() => [])
  return names.flatMap((name) => {
    const id = ComputerId.safeParse(name)
    return id.success ? [id.data] : []
  })
}

/** Whether supervisors of an earlier control plane still run here and look for its address. */
export const hasLivingSupervisors = async (stateDirectory: string): Promise<boolean> => {
  for (const id of await knownDirectories(stateDirectory)) {
    const record = await readRecord(computerDirectory(stateDirectory, id))
    if (record === undefined || !("process" in record)) continue
    if (await isAlive(record.process)) return true
  }
  return false
}

export const createLocalDriver = async (given: LocalDriverDeps): Promise<LocalDriver> => {
  const { ports, receiver, stateDirectory } = given
  const portAllocation = await createPortAllocation(stateDirectory)
  const deps: ComputerDeps = { ...given, portAllocation, slots: createSlots(makeAtOnce) }
  const computers = new Map<ComputerId, Computer>()
  const removing = new Map<ComputerId, Promise<void>>()
  const ending = new AbortController()
  let closing: Promise<readonly string[]> | undefined
  let cancelLook = (): void => undefined

  const failed = (task: string) => (error: unknown) =>
    ports.journal.record({
      type: "task_failed",
      task,
      message: error instanceof Error ? error.message : "unknown",
    })

  const find = (row: ReturnType<Receiver["computers"]>[number]): Computer => {
    const known = computers.get(row.id)
    if (known !== undefined) return known
    const directory = computerDirectory(stateDirectory, row.id)
    const made = createComputer({ id: row.id, directory, template: row.manifest }, deps)
    computers.set(row.id, made)
    return made
  }

  const remove = async (computer: Computer): Promise<void> => {
    const note = (detail: string): void =>
      ports.journal.record({ type: "driver", computerId: computer.id, action: "remove", detail })
    const outcome = await removeForGood({ remove: computer.remove, note, signal: ending.signal, ports })
    if (outcome === "interrupted") return
    if (computers.get(computer.id) === computer) computers.delete(computer.id)
    receiver.computerDeleted(computer.id)
  }

  const reconcile = (): void => {
    if (closing !== undefined) return
    for (const row of receiver.computers()) {
      if (row.desired === "running") find(row).run()
      if (row.desired === "parked") find(row).park()
      if (row.desired !== "deleted" || row.status === "deleted" || removing.has(row.id)) continue
      const removal = remove(find(row))
        .catch(failed(`remove ${row.id}`))
        .finally(() => removing.delete(row.id))
      removing.set(row.id, removal)
    }
  }

  const lookAtLogs = async (): Promise<void> => {
    for (const { directory } of computers.values()) await boundLog(directory.log)
    if (closing === undefined)
      cancelLook = ports.after(logLookMs, () => void lookAtLogs().catch(failed("bound logs")))
  }

  const close = async (): Promise<readonly string[]> => {
    cancelLook()
    ending.abort(new Error("the control plane is closing"))
    await Promise.all(removing.values())
    const outcomes = await Promise.all([...computers.values()].map((computer) => computer.stop()))
    return outcomes.flat()
  }

  const restore = async (): Promise<void> => {
    for (const id of await knownDirectories(stateDirectory)) {
      const configuration = await readConfiguration(computerDirectory(stateDirectory, id))
      if (configuration !== undefined) portAllocation.restore(id, configuration.ports)
    }
    for (const row of receiver.computers()) await find(row).adopt()
  }

  await restore()
  await lookAtLogs()
  return {
    reconcile,
    attached: (computerId) => computers.get(computerId)?.attached(),
    close: () => {
      closing ??= close()
      return closing
    },
  }
}
