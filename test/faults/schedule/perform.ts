/** Does a fault to a world, and undoes what passes by itself. */
import { readFileSync } from "node:fs"
import { ofKind } from "../history/record.ts"
import { calm, type Weather } from "../world/link.ts"
import { supervisorsOf } from "../world/remains.ts"
import type { World } from "../world/world.ts"
import { createDeaths } from "./deaths.ts"
import type { Fault, FaultKind } from "./schedule.ts"

export interface Faults {
  /** Answers with what it hit; nothing when there was nothing to hit. */
  readonly perform: (fault: Fault) => Promise<string | undefined>
  /** Kills a supervisor that is back at work, if one may die. */
  readonly killWorking: (target: number) => Promise<string | undefined>
  /** How often each was done. */
  readonly counts: () => Readonly<Record<string, number>>
  /** Undoes everything that has not passed yet. */
  readonly heal: () => Promise<void>
}

const weathers = {
  "delay frames": { ...calm, delayMaxMs: 40 },
  "duplicate frames": { ...calm, duplicated: 0.2 },
  "overtake frames": { ...calm, overtaken: 0.1 },
} as const satisfies Partial<Record<FaultKind, Weather>>

const lateMs = 60
/** From its attachment: by then callers have come back to it. */
const workingMs = 500

const chosen = <Value>(values: readonly Value[], target: number): Value | undefined =>
  values[Math.floor(target * values.length)]

const isSession = (pid: number, session: string): boolean => {
  try {
    return readFileSync(`/proc/${pid}/environ`, "utf8").includes(`HELMR_SESSION_ID=${session}`)
  } catch {
    return false
  }
}

const signal = (pid: number, name: NodeJS.Signals): boolean => {
  try {
    process.kill(pid, name)
    return true
  } catch {
    return false
  }
}

export const createFaults = (world: World): Faults => {
  const { plane, link, disk, book } = world
  const deaths = createDeaths(() => performance.now())
  const counts: Record<string, number> = {}
  const undoing = new Map<Promise<void>, () => void>()

  /** Later, or when everything heals. */
  const undo = (afterMs: number, work: () => void): void => {
    const { promise, resolve } = Promise.withResolvers<void>()
    const finish = (): void => {
      clearTimeout(timer)
      if (!undoing.delete(promise)) return
      work()
      resolve()
    }
    const timer = setTimeout(finish, afterMs)
    undoing.set(promise, finish)
  }

  const supervisor = async (
    target: number,
    isEligible: (computer: string) => boolean = () => true,
  ): Promise<readonly [string, number] | undefined> => {
    const found = [...(await supervisorsOf(world.directory))].toSorted(([a], [b]) => (a < b ? -1 : 1))
    return chosen(
      found.filter(([computer]) => deaths.mayDie(computer) && isEligible(computer)),
      target,
    )
  }

  /** The newest process of some Session. */
  const sessionProcess = (target: number): readonly [string, number] | undefined => {
    const newest = new Map(
      ofKind(book.read(), "initialised").map(({ session, pid }) => [session, pid] as const),
    )
    return chosen(
      [...newest].filter(([session, pid]) => isSession(pid, session)),
      target,
    )
  }

  const kill = (found: readonly [string, number] | undefined): string | undefined => {
    if (found === undefined || !signal(found[1], "SIGKILL")) return undefined
    deaths.died(found[0])
    return note("kill supervisor", found[0])
  }

  const note = (kind: FaultKind, target: string): string => {
    counts[kind] = (counts[kind] ?? 0) + 1
    book.write({ kind: "fault", fault: kind, target })
    return target
  }

  const freeze = (pid: number, lastsMs: number): boolean => {
    if (!signal(pid, "SIGSTOP")) return false
    undo(lastsMs, () => signal(pid, "SIGCONT"))
    return true
  }

  const onProcess = (kind: FaultKind, name: string, done: boolean): string | undefined =>
    done ? note(kind, name) : undefined

  const perform: Faults["perform"] = async ({ kind, lastsMs, target }) => {
    switch (kind) {
      case "kill supervisor":
        return kill(await supervisor(target))
      case "kill Session process": {
        const found = sessionProcess(target)
        return found && onProcess(kind, found[0], signal(found[1], "SIGKILL"))
      }
      case "kill control plane":
        return onProcess(kind, "", signal(plane.pid(), "SIGKILL"))
      case "cut links":
        link.cut()
        return note(kind, "")
      case "cut links with frames under way":
        link.cutLate(lateMs)
        return note(kind, "")
      case "lose an answer":
        link.loseAnswer()
        return note(kind, "")
      case "delay frames":
      case "duplicate frames":
      case "overtake frames":
        link.weather(weathers[kind])
        undo(lastsMs, () => link.weather(calm))
        return note(kind, "")
      case "freeze supervisor": {
        const found = await supervisor(target)
        return found && onProcess(kind, found[0], freeze(found[1], lastsMs))
      }
      case "freeze Session process": {
        const found = sessionProcess(target)
        return found && onProcess(kind, found[0], freeze(found[1], lastsMs))
      }
      case "freeze control plane":
        return onProcess(kind, "", freeze(plane.pid(), lastsMs))
      case "fill the disk":
        if (disk.kind === "none") return undefined
        disk.fill()
        undo(lastsMs, disk.free)
        return note(kind, "")
      default:
        return kind satisfies never
    }
  }

  return {
    perform,
    killWorking: async (target) => {
      const attached = world.link.attached(workingMs)
      return kill(await supervisor(target, (computer) => attached.has(computer)))
    },
    counts: () => counts,
    heal: async () => {
      for (const finish of [...undoing.values()]) finish()
      link.weather(calm)
    },
  }
}
