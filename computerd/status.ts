/** `computerd status`: what a supervisor says of itself. */
import { join } from "node:path"
import { ok, type Result } from "@computerd/protocol/errors"
import { operatorSocketName } from "@computerd/protocol/operator"
import { readStatus } from "@computerd/supervisor/operator/client"
import { renderStatus } from "@computerd/supervisor/operator/render"
import type { StatusPlace } from "./arguments/command.ts"
import type { Ports } from "./ports.ts"

const socketOf = (place: StatusPlace): string =>
  place.kind === "socket" ? place.path : join(place.directory, operatorSocketName)

export const statusText = async (
  place: StatusPlace,
  form: "readable" | "json",
  ports: Pick<Ports, "now">,
): Promise<Result<string>> => {
  const status = await readStatus(socketOf(place))
  if (!status.ok) return status
  return ok(
    form === "json" ? `${JSON.stringify(status.value, null, 2)}\n` : renderStatus(status.value, ports.now()),
  )
}
