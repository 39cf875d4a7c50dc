/** What a live view needs of the control plane. */
import type { FleetEvent, FleetSnapshot } from "@computerd/control-plane/receiver/fleet"

export type {
  ComputerRow,
  FleetEvent,
  FleetSnapshot,
  ProcessView,
  SessionView,
  TurnView,
} from "@computerd/control-plane/receiver/fleet"

export interface Fleet {
  readonly snapshot: () => FleetSnapshot
  readonly onEvent: (listener: (event: FleetEvent) => void) => () => void
}
