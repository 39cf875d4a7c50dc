/** What people and programs say to each other: text parts, JSON values, times. */
import { z } from "zod"
import { contentMaxBytes, textPartsMax } from "./limits.ts"

export const TextPart = z.strictObject({ type: z.literal("text"), text: z.string() })
export type TextPart = Readonly<z.infer<typeof TextPart>>

/** `[]` is valid. Counts, kinds and sizes have codes of their own: see `contentProblem`. */
export const Content = z.array(TextPart)
export type Content = readonly TextPart[]

export interface ContentProblem {
  readonly code: "content_kind_unsupported" | "content_limit_exceeded"
  /** Path inside the array, such as `[3].type`; empty for the array itself. */
  readonly at: string
  readonly message: string
}

const partProblem = (part: unknown, index: number): ContentProblem | undefined => {
  if (typeof part !== "object" || part === null || !("type" in part)) return undefined
  if (typeof part.type !== "string" || part.type === "text") return undefined
  return {
    code: "content_kind_unsupported",
    at: `[${index}].type`,
    message: 'is not supported; every part must be of type "text"',
  }
}

/** What has a code of its own: the number of parts and their kinds. Anything else is left to the schema. */
export const contentProblem = (value: unknown): ContentProblem | undefined => {
  if (!Array.isArray(value)) return undefined
  if (value.length > textPartsMax)
    return { code: "content_limit_exceeded", at: "", message: `has more than ${textPartsMax} parts` }
  return value.map(partProblem).find((problem) => problem !== undefined)
}

/** The size of content that the schema has accepted, as it is stored and sent. */
export const contentSizeProblem = (content: unknown): ContentProblem | undefined =>
  utf8Bytes(JSON.stringify(content) ?? "") > contentMaxBytes
    ? { code: "content_limit_exceeded", at: "", message: `is larger than ${contentMaxBytes} bytes as JSON` }
    : undefined

export type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json }
export const JsonValue: z.ZodType<Json> = z.json()

/** RFC 3339 in UTC with milliseconds. */
export const Timestamp = z.iso.datetime()
export type Timestamp = z.infer<typeof Timestamp>
export const timestamp = (epochMs: number): Timestamp => new Date(epochMs).toISOString()

export const utf8Bytes = (text: string): number => Buffer.byteLength(text, "utf8")

export const TurnStatus = z.enum(["queued", "running", "completed", "failed", "interrupted", "cancelled"])
export type TurnStatus = z.infer<typeof TurnStatus>
export const SessionStatus = z.enum(["open", "closing", "closed"])
export type SessionStatus = z.infer<typeof SessionStatus>
export const HoldKind = z.enum(["interrupt", "recovery", "storage_pressure"])
export type HoldKind = z.infer<typeof HoldKind>
export const ComputerStatus = z.enum(["available", "deleting", "deleted"])
export type ComputerStatus = z.infer<typeof ComputerStatus>
export const Residency = z.enum([
  "cold",
  "starting",
  "running",
  "parking",
  "parked",
  "restoring",
  "unavailable",
])
export type Residency = z.infer<typeof Residency>

/** Error of a Turn as every reader sees it. */
export const TurnError = z.strictObject({ code: z.string(), message: z.string().optional() })
export type TurnError = Readonly<z.infer<typeof TurnError>>

/** How a Turn ended. Only the fields of its status exist. */
export const TurnOutcome = z.discriminatedUnion("status", [
  z.strictObject({ status: z.literal("completed"), result: JsonValue, response: Content.optional() }),
  z.strictObject({ status: z.literal("failed"), error: TurnError }),
  z.strictObject({ status: z.literal("interrupted"), error: TurnError }),
  z.strictObject({ status: z.literal("cancelled"), error: TurnError }),
])
export type TurnOutcome = z.infer<typeof TurnOutcome>

/** Where a Turn came from. `client` is a call from outside; `session` is one made by a running Session. */
export const TurnSource = z.discriminatedUnion("kind", [
  z.strictObject({ kind: z.literal("client") }),
  z.strictObject({
    kind: z.literal("session"),
    requesterSessionId: z.string(),
    originTurnId: z.string().optional(),
  }),
])
export type TurnSource = Readonly<z.infer<typeof TurnSource>>
