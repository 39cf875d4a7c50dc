/** How far a Turn is, as a frame shows it. Pure. */
import type { TurnStatus } from "@computerd/protocol/content"

export type Progress = "running" | "waiting" | "failed" | "done"

export const mark: Readonly<Record<Progress, string>> = { running: "●", waiting: "○", failed: "✗", done: "✓" }

export const turnProgress = (status: TurnStatus): Progress => {
  switch (status) {
    case "running":
      return "running"
    case "queued":
      return "waiting"
    case "completed":
      return "done"
    case "failed":
    case "interrupted":
    case "cancelled":
      return "failed"
  }
}
