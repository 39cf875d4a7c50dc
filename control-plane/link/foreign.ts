/** Tells a peer of another protocol version from a faulty one. */
import { linkProtocol } from "@computerd/protocol/link"

/** An `attach` of another protocol may look different in every other field; only its number is read. */
export const foreignProtocol = (data: string | Uint8Array): number | undefined => {
  try {
    const value: unknown = JSON.parse(typeof data === "string" ? data : new TextDecoder().decode(data))
    if (typeof value !== "object" || value === null || !("kind" in value && "protocol" in value))
      return undefined
    const { kind, protocol } = value
    return kind === "attach" && typeof protocol === "number" && protocol !== linkProtocol
      ? protocol
      : undefined
  } catch {
    return undefined
  }
}
