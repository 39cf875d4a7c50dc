/** Reads a refusal: the envelope of the API, or whatever else stands in its place. Pure. */
import { ErrorCode } from "@computerd/protocol/errors"
import type { Refusal } from "./outcome.ts"

export interface RawAnswer {
  readonly status: number
  readonly retryAfter: string | null
  readonly text: string
  /** Takes the API key out of what is shown. */
  readonly hide: (text: string) => string
}

/** A foreign page is not shown whole. */
const shownMaxLength = 200

const parsed = (text: string): unknown => {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

const member = (value: unknown, name: string): unknown =>
  typeof value === "object" && value !== null
    ? Object.entries(value).find(([key]) => key === name)?.[1]
    : undefined

const textField = (value: unknown, name: string): string | undefined => {
  const found = member(value, name)
  return typeof found === "string" ? found : undefined
}

/** Seconds, the only form in which the API says it; what a proxy writes as a date is left to the back-off. */
export const retryAfterMs = (header: string | null): number | undefined =>
  header !== null && /^\d{1,6}$/.test(header.trim()) ? Number(header) * 1_000 : undefined

/** Hidden before it is cut, so that no part of a key stays. */
const unknownForm = (status: number, text: string): string => {
  const said = text.replace(/\s+/g, " ").trim().slice(0, shownMaxLength)
  return `the server answered ${status}${said === "" ? "" : `: ${said}`}`
}

export const refusalOf = ({ status, retryAfter, text, hide }: RawAnswer): Refusal => {
  const error = member(parsed(text), "error")
  const said = textField(error, "code")
  const known = ErrorCode.safeParse(said)
  const message = textField(error, "message")
  const field = textField(error, "field")
  return {
    status,
    code: known.success ? known.data : undefined,
    message:
      said === undefined
        ? unknownForm(status, hide(text))
        : hide(known.success ? (message ?? said) : `${said}: ${message ?? "no message"}`),
    field: field === undefined ? undefined : hide(field),
    retryAfterMs: retryAfterMs(retryAfter),
  }
}
