/** Who speaks: the Computer whose credential the request bears. The header is compared whole, in constant time. */
import type { ComputerId } from "@computerd/protocol/ids"
import type { Receiver } from "../receiver/receiver.ts"

const scheme = "Bearer "
/** Longer than any credential that was ever issued. */
const headerMaxLength = 256

export const authenticate = (
  request: Request,
  receiver: Pick<Receiver, "authenticate">,
): ComputerId | undefined => {
  const header = request.headers.get("authorization")
  if (header === null || header.length > headerMaxLength || !header.startsWith(scheme)) return undefined
  return receiver.authenticate(header.slice(scheme.length))
}
