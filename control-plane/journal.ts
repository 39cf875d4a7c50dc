/** What the control plane writes down about itself: one typed event per line of log. No secret, no input, no output. */
import type { Permission } from "@computerd/protocol/api/permissions"
import type { ApiKeyId, ComputerId, EnvironmentKey, SessionId, TurnId } from "@computerd/protocol/ids"
import pino, { type DestinationStream, type Logger } from "pino"
import type { FleetEvent } from "./receiver/fleet.ts"

export type JournalEvent =
  | FleetEvent
  | { readonly type: "store_opened"; readonly path: string; readonly version: number }
  | { readonly type: "store_failed"; readonly operation: string; readonly message: string }
  | {
      readonly type: "supervisor_attached"
      readonly computerId: ComputerId
      readonly epoch: number
      readonly version: string
      readonly processes: number
    }
  | { readonly type: "supervisor_detached"; readonly computerId: ComputerId; readonly epoch: number }
  | {
      readonly type: "event_ignored"
      readonly computerId: ComputerId
      readonly event: string
      readonly sessionId: SessionId
      readonly turnId: TurnId | null
      readonly reason: string
    }
  | {
      readonly type: "admission"
      readonly tool: string
      readonly sessionId: SessionId
      /** `admitted`, `repeated` for a retained receipt, or the code of the refusal. */
      readonly outcome: string
    }
  | {
      readonly type: "key_created"
      readonly keyId: ApiKeyId
      readonly environment: EnvironmentKey
      readonly permissions: readonly Permission[]
    }
  | { readonly type: "key_revoked"; readonly keyId: ApiKeyId; readonly environment: EnvironmentKey }
  /** The wall clock leapt, or this process did not run for so long. */
  | { readonly type: "clock_moved"; readonly byMs: number }
  | { readonly type: "task_failed"; readonly task: string; readonly message: string }
  | { readonly type: "listening" | "api_listening"; readonly url: string }
  | { readonly type: "link_refused"; readonly computerId: ComputerId | null; readonly reason: string }
  | { readonly type: "link_opened" | "link_closed"; readonly computerId: ComputerId; readonly reason: string }
  | {
      readonly type: "driver"
      readonly computerId: ComputerId
      readonly action: string
      readonly detail: string
    }

export interface Journal {
  readonly record: (event: JournalEvent) => void
}

const failures: ReadonlySet<JournalEvent["type"]> = new Set(["store_failed", "task_failed"])
const details: ReadonlySet<JournalEvent["type"]> = new Set(["admission", "turn_output"])

const write = (log: Logger, event: JournalEvent): void => {
  if (event.type === "turn_output") log.debug({ ...event, text: undefined, characters: event.text.length })
  else if (failures.has(event.type)) log.error(event)
  else if (details.has(event.type)) log.debug(event)
  else log.info(event)
}

/** `level` is a pino level; `silent` writes nothing. */
export const logJournal = (level: string, destination?: DestinationStream): Journal => {
  const log = destination === undefined ? pino({ level }) : pino({ level }, destination)
  return { record: (event) => write(log, event) }
}

export const silentJournal: Journal = { record: () => undefined }
