/**
 * The supervisor's journal: typed events, from which logs, metrics and tests are fed. Each subject has a union of
 * its own below; a new event does not compile until it has a level. No event carries a secret.
 */
import type { Failure } from "@computerd/protocol/errors"
import type { Digest, Generation, SessionId, TurnId } from "@computerd/protocol/ids"
import type { ExitReason } from "@computerd/protocol/link"
import pino, { type Logger } from "pino"
import type { Clock } from "./ports.ts"

type OfSession = { readonly sessionId: SessionId }
type OfProcess = OfSession & { readonly generation: Generation }

export type CareAspect = "exit_recorder" | "limits" | "environment"

export type StoreJournalEvent =
  | {
      readonly event: "store_opened"
      readonly file: string
      readonly version: number
      readonly created: boolean
    }
  | {
      readonly event: "store_set_aside"
      readonly file: string
      readonly keptAs: string
      readonly reason: string
    }
  | { readonly event: "disk_full"; readonly directory: string; readonly freedBytes: number }
  | { readonly event: "disk_recovered"; readonly directory: string }
  | { readonly event: "store_write_failed"; readonly during: string; readonly message: string }

export type ProcessJournalEvent =
  | {
      readonly event: "isolation_chosen"
      readonly isolation: "cgroup" | "process_group"
      readonly reason: string
    }
  /** This machine does not allow something that a supervisor does for its Sessions elsewhere. */
  | { readonly event: "care_degraded"; readonly aspect: CareAspect; readonly reason: string }
  | { readonly event: "care_restored"; readonly aspect: CareAspect }
  /** For want of a lease: every process of a Session. */
  | { readonly event: "sessions_frozen"; readonly processes: number; readonly tookMs: number }
  | { readonly event: "sessions_thawed"; readonly processes: number; readonly sinceMs: number }
  | (OfProcess & { readonly event: "process_spawned"; readonly pid: number })
  | (OfProcess & { readonly event: "process_ready"; readonly afterMs: number })
  | (OfProcess & { readonly event: "process_stopping"; readonly cause: string })
  | (OfProcess & {
      readonly event: "process_exited"
      readonly reason: ExitReason
      readonly turnId?: TurnId
      readonly expected: boolean
    })
  /** Processes that no record speaks of. */
  | (OfSession & {
      readonly event: "strays_killed"
      readonly killed: number
      readonly survivors: readonly number[]
    })
  /** What follows a loss, and the name of the rule that says so. */
  | (OfProcess & {
      readonly event: "process_lost"
      readonly name: string
      readonly next: "restart" | "after_release" | "hold"
      readonly delayMs: number
      readonly losses: number
    })
  /** Every kill names who decided it; `survivors` is empty once the tree is proven gone. */
  | (OfProcess & {
      readonly event: "tree_killed"
      readonly cause: string
      readonly survivors: readonly number[]
    })
  | (OfProcess & {
      readonly event: "output_truncated"
      readonly stream: "stdout" | "stderr"
      readonly bytes: number
    })
  | (OfProcess & { readonly event: "output_unwritable"; readonly message: string })
  | (OfProcess & { readonly event: "inherited_process"; readonly pid: number; readonly outcome: string })

export type ChannelJournalEvent =
  | { readonly event: "channel_listening"; readonly port: number; readonly previous: number | null }
  | { readonly event: "channel_unauthorized" }
  | (OfProcess & { readonly event: "channel_connected"; readonly received: number })
  | (OfProcess & { readonly event: "channel_closed"; readonly code: number; readonly reason: string })
  | (OfProcess & { readonly event: "channel_frame_invalid"; readonly message: string })
  | (OfProcess & { readonly event: "channel_frame_ignored"; readonly type: string; readonly why: string })

export type SessionJournalEvent =
  | (OfSession & { readonly event: "session_assigned"; readonly held: boolean })
  | (OfSession & { readonly event: "session_released" })
  | (OfSession & { readonly event: "command_ignored"; readonly type: string; readonly why: string })
  | { readonly event: "session_task_failed"; readonly task: string; readonly message: string }

export type BundleJournalEvent =
  | {
      readonly event: "bundle_stored"
      readonly digest: Digest
      readonly bytes: number
      readonly tookMs: number
    }
  | {
      readonly event: "bundle_attempt_failed"
      readonly digest: Digest
      readonly attempt: number
      readonly error: Failure
    }

export type LinkJournalEvent =
  | {
      readonly event: "link_attached"
      readonly epoch: number
      readonly sessions: number
      readonly pending: number
    }
  | {
      readonly event: "link_ended"
      readonly outcome: string
      readonly detail: string
      readonly retryInMs: number | null
    }
  | { readonly event: "link_frame_invalid"; readonly message: string }
  | { readonly event: "link_complaint"; readonly message: string }
  | {
      readonly event: "lease_changed"
      readonly state: "none" | "held" | "lapsed"
      readonly epoch: number | null
    }
  /** Nobody can read it; `told` is the type of the event that goes out in its place. */
  | {
      readonly event: "event_set_aside"
      readonly bytes: number
      readonly reason: string
      readonly told: string | null
    }
  | { readonly event: "output_refused"; readonly sessionId: SessionId; readonly turnId: TurnId }
  | {
      readonly event: "events_renumbered"
      readonly received: number
      readonly shift: number
      readonly pending: number
    }

export type AdmissionJournalEvent =
  | (OfProcess & { readonly event: "admission_uncertain"; readonly tool: string })
  | (OfSession & {
      readonly event: "admission_reconciled"
      readonly state: "admitted" | "refused" | "absent"
    })

export type DescriptorJournalEvent =
  | (OfProcess & { readonly event: "mcp_listening"; readonly port: number; readonly scopes: number })
  | (OfProcess & { readonly event: "mcp_scope_added"; readonly digest: string; readonly scopes: number })
  | (OfProcess & { readonly event: "mcp_closed"; readonly cause: string })
  | (OfProcess & { readonly event: "mcp_fault"; readonly message: string })
  | (OfProcess & { readonly event: "mcp_not_restored"; readonly port: number; readonly message: string })

export type DaemonJournalEvent =
  | { readonly event: "daemon_started"; readonly version: string; readonly pid: number }
  | { readonly event: "daemon_stopping"; readonly cause: string }
  | { readonly event: "daemon_stopped"; readonly failed: readonly string[] }
  /** Durable, and sent after the next start. */
  | { readonly event: "events_kept"; readonly count: number }
  /** This process, or its machine, did not run for so long. */
  | { readonly event: "resumed_after_pause"; readonly gapMs: number }
  /** Timers stopped with a suspension: a new process is needed. */
  | { readonly event: "timers_dead" }
  | { readonly event: "sessions_ending"; readonly cause: string }
  | { readonly event: "sessions_ended"; readonly failed: readonly string[] }
  | { readonly event: "operator_listening"; readonly socket: string }
  | { readonly event: "operator_fault"; readonly message: string }
  | { readonly event: "unhandled_fault"; readonly message: string }

export type JournalEvent =
  | StoreJournalEvent
  | ProcessJournalEvent
  | ChannelJournalEvent
  | SessionJournalEvent
  | BundleJournalEvent
  | LinkJournalEvent
  | AdmissionJournalEvent
  | DescriptorJournalEvent
  | DaemonJournalEvent

export type Level = "debug" | "info" | "warn" | "error"

const levels: Readonly<Record<JournalEvent["event"], Level>> = {
  store_opened: "info",
  store_set_aside: "error",
  disk_full: "error",
  disk_recovered: "info",
  store_write_failed: "error",
  isolation_chosen: "info",
  care_degraded: "warn",
  care_restored: "info",
  sessions_frozen: "warn",
  sessions_thawed: "info",
  process_spawned: "info",
  process_ready: "info",
  process_stopping: "info",
  process_exited: "info",
  strays_killed: "warn",
  process_lost: "warn",
  tree_killed: "info",
  output_truncated: "warn",
  output_unwritable: "warn",
  inherited_process: "warn",
  channel_listening: "info",
  channel_unauthorized: "warn",
  channel_connected: "debug",
  channel_closed: "debug",
  channel_frame_invalid: "error",
  channel_frame_ignored: "warn",
  session_assigned: "info",
  session_released: "info",
  command_ignored: "warn",
  session_task_failed: "error",
  bundle_stored: "info",
  bundle_attempt_failed: "warn",
  link_attached: "info",
  link_ended: "warn",
  link_frame_invalid: "error",
  link_complaint: "error",
  lease_changed: "info",
  event_set_aside: "error",
  output_refused: "warn",
  events_renumbered: "warn",
  admission_uncertain: "warn",
  admission_reconciled: "info",
  mcp_listening: "info",
  mcp_scope_added: "info",
  mcp_closed: "info",
  mcp_fault: "error",
  mcp_not_restored: "warn",
  daemon_started: "info",
  daemon_stopping: "info",
  daemon_stopped: "info",
  events_kept: "info",
  resumed_after_pause: "warn",
  timers_dead: "error",
  sessions_ending: "warn",
  sessions_ended: "info",
  operator_listening: "info",
  operator_fault: "error",
  unhandled_fault: "error",
}

export type JournalEntry = JournalEvent & { readonly atMs: number; readonly level: Level }
export type JournalListener = (entry: JournalEntry) => void

export interface Journal {
  readonly record: (event: JournalEvent) => void
  /** Returns what ends the subscription. */
  readonly subscribe: (listener: JournalListener) => () => void
}

/** Each sink gets every entry in order. A sink that throws does not keep the others from theirs. */
export const createJournal = (clock: Clock, sinks: readonly JournalListener[] = []): Journal => {
  const listeners = new Set<JournalListener>(sinks)
  return {
    record: (event) => {
      const entry: JournalEntry = { ...event, atMs: clock.wallMs(), level: levels[event.event] }
      for (const listener of [...listeners]) {
        try {
          listener(entry)
        } catch {
          // A full disk under the log must not end the work that is being logged.
        }
      }
    },
    subscribe: (listener) => {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
  }
}

/** One JSON line for each entry, on a file descriptor; synchronous, so that a crash loses none. */
export const pinoSink = (options: { readonly level: Level; readonly fd: number }): JournalListener => {
  const logger: Logger = pino(
    { level: options.level, base: null, timestamp: false },
    pino.destination({ fd: options.fd, sync: true }),
  )
  return ({ level, event, atMs, ...fields }) =>
    logger[level]({ time: new Date(atMs).toISOString(), event, ...fields })
}
