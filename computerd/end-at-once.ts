/** The end at once: what runs is killed, an orderly end gets a moment more, then what was being started is killed too. */
import type { ControlPlane } from "@computerd/control-plane/control-plane"
import { type Doomed, killEverything } from "./kill.ts"
import { writeOut } from "./output.ts"
import type { Ports } from "./ports.ts"

/** With every process dead an orderly close has little left to do. */
const closeAfterKillMs = 2_000

export interface EndAtOnceDeps {
  readonly ports: Ports
  readonly err: NodeJS.WriteStream
}

/** Adds every Computer that there is or will be to `computers`. */
export const hearOfComputers = (
  controlPlane: Pick<ControlPlane, "snapshot" | "onEvent">,
  computers: Set<string>,
): void => {
  for (const { id } of controlPlane.snapshot().computers) computers.add(id)
  controlPlane.onEvent((event) => {
    if (event.type === "computer_changed") computers.add(event.computerId)
  })
}

/** `orderly`: the end that was under way. */
export const endAtOnce = async (
  orderly: Promise<unknown>,
  doomed: Doomed,
  { ports, err }: EndAtOnceDeps,
): Promise<void> => {
  await killEverything(doomed, ports)
  const late = new Promise<void>((resolve) => ports.after(closeAfterKillMs, resolve))
  await Promise.race([orderly.catch(() => undefined), late])
  const left = await killEverything(doomed, ports)
  if (left.length > 0) await writeOut(err, `computerd: still running: ${left.join(", ")}\n`)
}

export const aborted = (signal: AbortSignal): Promise<"aborted"> =>
  new Promise((resolve) => {
    if (signal.aborted) resolve("aborted")
    else signal.addEventListener("abort", () => resolve("aborted"), { once: true })
  })
