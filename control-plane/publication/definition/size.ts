/** Sizes as authors write them: bytes as a number, or a number with a unit. */
import { ok, type Result } from "@computerd/protocol/errors"
import { invalid } from "./field.ts"

const unitBytes: ReadonlyMap<string, number> = new Map([
  ["KiB", 2 ** 10],
  ["MiB", 2 ** 20],
  ["GiB", 2 ** 30],
  ["TiB", 2 ** 40],
])

/** Less than this runs nothing; more than this is a mistake in the unit. */
export const memoryMinBytes = 2 ** 20
export const memoryMaxBytes = 64 * 2 ** 40

const bytesOf = (value: unknown): number | undefined => {
  if (typeof value === "number") return value
  if (typeof value !== "string") return undefined
  const match = /^(\d{1,15}(?:\.\d{1,6})?)([KMGT]iB)$/.exec(value)
  const factor = unitBytes.get(match?.[2] ?? "")
  return match === null || factor === undefined ? undefined : Math.round(Number(match[1]) * factor)
}

export const parseMemory = (value: unknown, field: string): Result<number> => {
  const bytes = bytesOf(value)
  if (bytes === undefined || !Number.isSafeInteger(bytes))
    return invalid(field, 'must be a size such as "1GiB" or "512MiB", or whole bytes')
  if (bytes < memoryMinBytes || bytes > memoryMaxBytes)
    return invalid(field, "must be between 1MiB and 64TiB")
  return ok(bytes)
}
