/** Durations as authors write them: milliseconds as a number, or a number with a unit. */
import { ok, type Result } from "@computerd/protocol/errors"
import { invalid } from "./field.ts"

const unitMs: ReadonlyMap<string, number> = new Map([
  ["ms", 1],
  ["s", 1000],
  ["m", 60_000],
  ["h", 3_600_000],
  ["d", 86_400_000],
])

/** A period that nobody waits for is a mistake in the unit. */
export const durationMaxMs = 366 * 86_400_000

const milliseconds = (value: unknown): number | undefined => {
  if (typeof value === "number") return value
  if (typeof value !== "string") return undefined
  const match = /^(\d{1,15}(?:\.\d{1,6})?)(ms|s|m|h|d)$/.exec(value)
  const factor = unitMs.get(match?.[2] ?? "")
  return match === null || factor === undefined ? undefined : Math.round(Number(match[1]) * factor)
}

/** `null` and absence both mean that the period never ends. */
export const parseDuration = (value: unknown, field: string): Result<number | null> => {
  if (value === undefined || value === null) return ok(null)
  const ms = milliseconds(value)
  if (ms === undefined || !Number.isSafeInteger(ms) || ms < 0)
    return invalid(field, 'must be a duration such as "10m" (ms, s, m, h, d) or whole milliseconds')
  return ms <= durationMaxMs ? ok(ms) : invalid(field, "must not be longer than 366 days")
}
