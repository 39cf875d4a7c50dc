/**
 * Values of a definition as JSON, for publication to judge. What JSON would change or leave out becomes an object with
 * the one key `unsupported`, which no field of a definition accepts, so that it is refused by name and never guessed at.
 */
import type { Json } from "@computerd/protocol/content"

const depthMax = 64

const unsupported = (what: string): Json => ({ unsupported: what })

const structure = (value: object, ancestors: readonly object[]): Json => {
  if (ancestors.includes(value)) return unsupported("a cycle")
  if (ancestors.length >= depthMax) return unsupported(`nesting deeper than ${depthMax}`)
  const inside = [...ancestors, value]
  if (Array.isArray(value)) return Array.from(value, (item: unknown) => visit(item, inside))
  const prototype: unknown = Object.getPrototypeOf(value)
  if (prototype !== Object.prototype && prototype !== null) return unsupported("a class instance")
  return Object.fromEntries(
    Object.entries(value)
      .filter(([, item]) => item !== undefined)
      .map(([key, item]) => [key, visit(item, inside)]),
  )
}

const visit = (value: unknown, ancestors: readonly object[]): Json => {
  switch (typeof value) {
    case "string":
    case "boolean":
      return value
    case "number":
      return Number.isFinite(value) ? value : unsupported(String(value))
    case "object":
      return value === null ? null : structure(value, ancestors)
    default:
      return unsupported(typeof value)
  }
}

/** A value that is not set is `null`. */
export const describable = (value: unknown): Json => (value === undefined ? null : visit(value, []))
