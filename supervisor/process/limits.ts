/**
 * Limits of Session processes: what the kernel has to allow before they bind, and what to write where. Pure: what the
 * kernel says comes in as text.
 */

import type { SessionLimits } from "@computerd/protocol/configuration"

export type Controller = "memory" | "pids"

/** The memory controller also tells a kill for want of memory from any other, so it is wanted without a limit too. */
export const wantedControllers = ({ pids }: SessionLimits): readonly Controller[] =>
  pids === undefined ? ["memory"] : ["memory", "pids"]

export const isLimited = ({ memoryBytes, pids }: SessionLimits): boolean =>
  memoryBytes !== undefined || pids !== undefined

const words = (text: string): readonly string[] => text.split(/\s+/).filter((word) => word !== "")

/** Of those wanted, the ones that a list of the kernel's lacks. */
export const missingFrom = (list: string, wanted: readonly Controller[]): readonly Controller[] => {
  const found = words(list)
  return wanted.filter((controller) => !found.includes(controller))
}

export const enabling = (controllers: readonly Controller[]): string =>
  controllers.map((controller) => `+${controller}`).join(" ")

export interface Setting {
  readonly file: string
  readonly value: string
}

export const settingsOf = ({ memoryBytes, pids }: SessionLimits): readonly Setting[] => [
  ...(memoryBytes === undefined ? [] : [{ file: "memory.max", value: String(memoryBytes) }]),
  ...(pids === undefined ? [] : [{ file: "pids.max", value: String(pids) }]),
]

/** Kills for want of memory in the text of `memory.events`; none where the controller is off. */
export const outOfMemoryKills = (events: string): number => Number(/^oom_kill (\d+)$/m.exec(events)?.[1] ?? 0)
