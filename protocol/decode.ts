/** Three answers to a received frame: ok, known but invalid, not JSON or not an envelope at all. */
import type { z } from "zod"
import { judge } from "./judge.ts"
import { frameMaxBytes } from "./limits.ts"

export type Decoded<Frame> =
  | { readonly kind: "ok"; readonly frame: Frame }
  /** `seq` is present when the envelope could be read, so that the peer can be told which frame was refused. */
  | { readonly kind: "invalid"; readonly message: string; readonly seq?: number }

const sequence = (value: unknown): number | undefined => {
  if (typeof value !== "object" || value === null || !("seq" in value)) return undefined
  return typeof value.seq === "number" ? value.seq : undefined
}

export const decoder =
  <Frame>(schema: z.ZodType<Frame>, maxBytes: number = frameMaxBytes) =>
  (data: string | Uint8Array): Decoded<Frame> => {
    if (data.length > maxBytes) return { kind: "invalid", message: `frame is larger than ${maxBytes} bytes` }
    let value: unknown
    try {
      value = JSON.parse(
        typeof data === "string" ? data : new TextDecoder("utf-8", { fatal: true }).decode(data),
      )
    } catch {
      return { kind: "invalid", message: "frame is not JSON" }
    }
    const judged = judge(schema, value)
    if (judged.ok) return { kind: "ok", frame: judged.value }
    const message = `${judged.error.field || "frame"}: ${judged.error.message}`
    const seq = sequence(value)
    return seq === undefined ? { kind: "invalid", message } : { kind: "invalid", message, seq }
  }
