/** `computerd status`: what a supervisor says of itself, or a control plane of its Computers. */
import { existsSync } from "node:fs"
import { join } from "node:path"
import { operatorSocketName as controlPlaneSocketName } from "@computerd/control-plane/http/messages"
import { ok, type Result } from "@computerd/protocol/errors"
import { operatorSocketName } from "@computerd/protocol/operator"
import { readStatus } from "@computerd/supervisor/operator/client"
import { renderStatus } from "@computerd/supervisor/operator/render"
import type { StatusPlace } from "./arguments/command.ts"
import { fleetStatusText } from "./fleet-status.ts"
import type { Ports } from "./ports.ts"

const socketOf = (place: StatusPlace): string =>
  place.kind === "socket" ? place.path : join(place.directory, operatorSocketName)

/** Either kind has a socket in its state directory, under a name of its own. */
const isControlPlane = (directory: string): boolean =>
  !existsSync(join(directory, operatorSocketName)) && existsSync(join(directory, controlPlaneSocketName))

export const statusText = async (
  place: StatusPlace,
  form: "readable" | "json",
  ports: Pick<Ports, "now">,
): Promise<Result<string>> => {
  if (place.kind === "state" && isControlPlane(place.directory)) return fleetStatusText(place.directory, form)
  const status = await readStatus(socketOf(place))
  if (!status.ok) return status
  return ok(
    form === "json" ? `${JSON.stringify(status.value, null, 2)}\n` : renderStatus(status.value, ports.now()),
  )
}
