/**
 * The life of one Session process. Pure: `session/run.ts` owns its timers and the process itself.
 *
 * | from     | event          | to                                             |
 * | -------- | -------------- | ---------------------------------------------- |
 * | starting | ready          | ready                                          |
 * | starting | failed         | stopping (load_failed, init_failed)            |
 * | starting | start_expired  | stopping (start_timeout)                       |
 * | ready    | turn_given     | running                                        |
 * | running  | turn_ended     | ready                                          |
 * | running  | cancel_expired | stopping (stop_timeout), the Turn is lost      |
 * | living   | stop           | stopping; the first cause stands               |
 * | stopping | turn_ended     | stopping, nothing is lost any more             |
 * | living   | died           | exited, with the cause of the stop if one began|
 *
 * PM1 a Turn is given only to a ready process, one at a time
 * PM2 the reason of an exit is the cause of the stop that led to it, else what the kernel reported
 */
import type { TurnId } from "@computerd/protocol/ids"
import type { ExitReason } from "@computerd/protocol/link"

export type StopCause = Extract<
  ExitReason,
  {
    readonly kind:
      | "start_timeout"
      | "spawn_failed"
      | "load_failed"
      | "init_failed"
      | "stop_timeout"
      | "shutdown"
      | "not_reattached"
      | "unknown"
  }
>

/** `undefined`: what only the kernel reports. */
export const asStopCause = (reason: ExitReason): StopCause | undefined => {
  switch (reason.kind) {
    case "code":
    case "signal":
    case "out_of_memory":
      return undefined
    default:
      return reason
  }
}

export type ProcessState =
  | { readonly kind: "starting" }
  | { readonly kind: "ready" }
  | { readonly kind: "running"; readonly turnId: TurnId }
  | { readonly kind: "stopping"; readonly cause: StopCause; readonly turnId?: TurnId }
  | {
      readonly kind: "exited"
      readonly reason: ExitReason
      /** The Turn that was running and did not settle. */
      readonly turnId?: TurnId
      readonly expected: boolean
    }

export type ProcessEvent =
  | { readonly kind: "ready" }
  | { readonly kind: "failed"; readonly phase: "load" | "init"; readonly message: string }
  | { readonly kind: "start_expired"; readonly afterMs: number }
  | { readonly kind: "turn_given"; readonly turnId: TurnId }
  | { readonly kind: "turn_ended"; readonly turnId: TurnId }
  | { readonly kind: "cancel_expired"; readonly turnId: TurnId; readonly afterMs: number }
  | { readonly kind: "stop"; readonly cause: StopCause }
  | { readonly kind: "died"; readonly reason: ExitReason }

/** Beside the state: whether the Session may be given work. */
export type Holding = { readonly kind: "free" } | { readonly kind: "held"; readonly holds: number }

export const holding = (holds: readonly unknown[]): Holding =>
  holds.length === 0 ? { kind: "free" } : { kind: "held", holds: holds.length }

export const initialState: ProcessState = { kind: "starting" }

export const runningTurn = (state: ProcessState): TurnId | undefined => {
  switch (state.kind) {
    case "starting":
    case "ready":
      return undefined
    case "running":
    case "stopping":
    case "exited":
      return state.turnId
    default:
      return state satisfies never
  }
}

const withTurn = (turnId: TurnId | undefined): { readonly turnId?: TurnId } =>
  turnId === undefined ? {} : { turnId }

const stopping = (state: ProcessState, cause: StopCause): ProcessState => ({
  kind: "stopping",
  cause,
  ...withTurn(runningTurn(state)),
})

const exited = (state: ProcessState, reported: ExitReason): ProcessState => {
  const reason = state.kind === "stopping" ? state.cause : reported
  const turnId = runningTurn(state)
  return {
    kind: "exited",
    reason,
    ...withTurn(turnId),
    expected: reason.kind === "shutdown" && turnId === undefined,
  }
}

const turnEnded = (state: ProcessState, turnId: TurnId): ProcessState | undefined => {
  if (runningTurn(state) !== turnId) return undefined
  if (state.kind === "running") return { kind: "ready" }
  return state.kind === "stopping" ? { kind: "stopping", cause: state.cause } : undefined
}

/** `undefined`: the event does not belong to this state and changes nothing. */
export const transition = (state: ProcessState, event: ProcessEvent): ProcessState | undefined => {
  if (state.kind === "exited") return undefined
  const isStarting = state.kind === "starting"
  switch (event.kind) {
    case "ready":
      return isStarting ? { kind: "ready" } : undefined
    case "failed":
      return isStarting
        ? stopping(state, { kind: `${event.phase}_failed`, message: event.message })
        : undefined
    case "start_expired":
      return isStarting ? stopping(state, { kind: "start_timeout", afterMs: event.afterMs }) : undefined
    case "turn_given":
      return state.kind === "ready" ? { kind: "running", turnId: event.turnId } : undefined
    case "turn_ended":
      return turnEnded(state, event.turnId)
    case "cancel_expired":
      return state.kind === "running" && state.turnId === event.turnId
        ? stopping(state, { kind: "stop_timeout", afterMs: event.afterMs })
        : undefined
    case "stop":
      return state.kind === "stopping" ? undefined : stopping(state, event.cause)
    case "died":
      return exited(state, event.reason)
    default:
      return event satisfies never
  }
}
