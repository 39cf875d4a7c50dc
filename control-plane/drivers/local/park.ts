/**
 * Parking of one Computer whose supervisor lives: freezes and thaws it until it is as the receiver wants it.
 *
 * PK1 a parked Computer keeps its processes, hence generations, ports and headers; only its room is given back
 * PK2 the receiver dispatches nothing to a Computer that is to be parked, so no Turn freezes half way
 * PK3 its connection is ended while it is frozen and it attaches anew when it wakes, before its Sessions do: they never
 *     meet a lease that has lapsed meanwhile
 * PK4 that it may be frozen is on record before it is, for the next control plane
 */
import type { Receiver } from "../../receiver/receiver.ts"
import type { SupervisorRecord } from "./directory.ts"
import { type Freezable, freeze, thaw, thawSessions, thawSupervisor } from "./freeze.ts"
import { type Guard, startGuard } from "./guard.ts"
import type { StartDeps } from "./start.ts"
import { pause, within } from "./wait.ts"

export type Wanted = "running" | "parked"

export interface ParkingDeps extends Pick<StartDeps, "ports" | "lifeline"> {
  readonly receiver: Pick<Receiver, "computerState">
  readonly remember: (record: SupervisorRecord) => Promise<void>
  /** Ends the supervisor's connection, if there is one. */
  readonly disconnect: () => void
  readonly note: (action: string, detail: string) => void
}

export interface Parking {
  readonly want: (wanted: Wanted) => void
  readonly attached: () => void
  /** Parks and wakes no more; reports nothing more. */
  readonly close: () => Promise<void>
  /** Closes and leaves everything awake, so that it can be asked to end. */
  readonly release: () => Promise<void>
}

const retryMs = 1_000
/** From the thaw until the supervisor attaches; it redials at once. */
const wakeMaxMs = 30_000

const messageOf = (error: unknown): string => (error instanceof Error ? error.message : "unknown reason")

/** `unsure`: found by this control plane with a record that says it may be frozen. */
export const createParking = (what: Freezable, found: "running" | "unsure", deps: ParkingDeps): Parking => {
  const { ports, receiver } = deps
  const { id, supervisor } = what
  const ending = new AbortController()
  let state: Wanted | "unsure" = found
  let wanted: Wanted | undefined
  let moving: Promise<void> | undefined
  let attachment = Promise.withResolvers<void>()
  let guard: Guard | undefined

  const endGuard = async (): Promise<void> => {
    await guard?.end()
    guard = undefined
  }

  const park = async (): Promise<void> => {
    // One that was parked before this control plane came holds no room while that is made sure of.
    if (state === "running") receiver.computerState(id, "parking")
    await deps.remember({ state: "parked", process: supervisor })
    if (deps.lifeline) guard = startGuard(supervisor)
    const outcome = await freeze(what, ports)
    if (outcome.kind === "running") throw new Error(`still running: ${outcome.pids.join(", ")}`)
    guard?.watch([...outcome.pids, ...outcome.groups])
    state = "parked"
    deps.disconnect()
    receiver.computerState(id, "parked")
    deps.note("parked", `${outcome.pids.length + 1} processes and ${outcome.groups.length} groups frozen`)
  }

  /** It stays wanted, so it is tried again. */
  const giveUpParking = async (why: string): Promise<void> => {
    deps.note("park_failed", why)
    await thaw(what)
    await endGuard()
    receiver.computerState(id, "running")
    await deps.remember({ state: "running", process: supervisor })
  }

  const tryToPark = (): Promise<void> => park().catch((error: unknown) => giveUpParking(messageOf(error)))

  /** PK3. The receiver takes the attachment for `running`. */
  const unpark = async (): Promise<void> => {
    receiver.computerState(id, "restoring")
    deps.disconnect()
    attachment = Promise.withResolvers<void>()
    await thawSupervisor(what)
    const outcome = await within(attachment.promise, wakeMaxMs, ports)
    await thawSessions(what)
    await endGuard()
    state = "running"
    await deps.remember({ state: "running", process: supervisor })
    if (outcome === "late") deps.note("slow_wake", `did not attach within ${wakeMaxMs / 1000} s`)
    else deps.note("unparked", `pid ${supervisor.pid}`)
  }

  const isDue = (): boolean => !ending.signal.aborted && wanted !== undefined && wanted !== state

  const move = async (): Promise<void> => {
    while (isDue()) {
      const aim = wanted
      try {
        await (aim === "parked" ? tryToPark() : unpark())
      } catch (error) {
        deps.note("move_failed", messageOf(error))
      }
      if (state !== aim) await pause(retryMs, ending.signal, ports)
    }
  }

  /** What is wanted while it moves is seen by its loop; what is wanted right after the last look, by the next one. */
  const moveIfDue = (): void => {
    if (!isDue()) return
    moving ??= move().finally(() => {
      moving = undefined
      moveIfDue()
    })
  }

  const close = async (): Promise<void> => {
    ending.abort(new Error("the Computer is to end"))
    attachment.resolve()
    await moving
    await endGuard()
  }

  return {
    want: (next) => {
      wanted = next
      moveIfDue()
    },
    attached: () => attachment.resolve(),
    close,
    release: async () => {
      await close()
      if (state !== "running") await thaw(what)
    },
  }
}
