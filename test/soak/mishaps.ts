/** What befalls the soak while it works. The first owner's Computer is spared: its supervisor's memory is measured throughout. */
import type { ComputerId } from "@computerd/protocol/ids"
import { until } from "../control-plane/drivers/rig.ts"
import type { Stage } from "./stage.ts"

/** SIGKILL, until the driver has started another one. */
export const killSupervisor = async (stage: Stage, computerId: ComputerId): Promise<void> => {
  const before = await stage.supervisorOf(computerId)
  process.kill(before, "SIGKILL")
  await until("another supervisor", async () => {
    if ((await stage.supervisorOf(computerId)) !== before) return true
    await Bun.sleep(50)
    return undefined
  })
}

/** The supervisor's socket breaks and it dials again; see `supervisor.ts` here. */
export const cutLink = async (stage: Stage, computerId: ComputerId): Promise<void> => {
  process.kill(await stage.supervisorOf(computerId), "SIGWINCH")
}
