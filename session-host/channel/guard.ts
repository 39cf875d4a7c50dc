/**
 * Predicates over received JSON. The supervisor is the trusted side of the channel and has checked what it sends with
 * the zod schemas of `protocol`; loading zod here as well would take six times as long as everything else a Session
 * process does before its program. These check shape and exact keys, and the compiler holds them to the same types.
 */
export type Guard<Value> = (value: unknown) => value is Value

type Fields<Value> = { readonly [Key in keyof Value]-?: Guard<Exclude<Value[Key], undefined>> }
type OptionalKeys<Value> = {
  [Key in keyof Value]-?: undefined extends Value[Key] ? Key : never
}[keyof Value]

export const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null && !Array.isArray(value)

export const isText: Guard<string> = (value) => typeof value === "string"

export const integerFrom =
  (least: number): Guard<number> =>
  (value): value is number =>
    typeof value === "number" && Number.isSafeInteger(value) && value >= least

export const literal =
  <const Value extends string | boolean>(...allowed: readonly Value[]): Guard<Value> =>
  (value): value is Value =>
    allowed.some((one) => one === value)

const uuid7 = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/

/** An id of one kind: its prefix and a UUIDv7. */
export const idOf =
  <Id extends string>(prefix: string): Guard<Id> =>
  (value): value is Id =>
    typeof value === "string" && value.startsWith(`${prefix}_`) && uuid7.test(value.slice(prefix.length + 1))

export const listOf =
  <Value>(guard: Guard<Value>): Guard<Value[]> =>
  (value): value is Value[] =>
    Array.isArray(value) && value.every((item) => guard(item))

const hasExactly = (
  value: Readonly<Record<string, unknown>>,
  fields: Readonly<Record<string, Guard<unknown>>>,
  optional: readonly PropertyKey[],
): boolean => {
  for (const name of Object.keys(value)) if (!Object.hasOwn(fields, name)) return false
  for (const name of Object.keys(fields)) {
    const passes = Object.hasOwn(value, name) ? fields[name]?.(value[name]) : optional.includes(name)
    if (passes !== true) return false
  }
  return true
}

/** Exactly these fields; the optional ones may be absent. Making one costs nothing: most are not used before `ready`. */
export const shape =
  <Value extends object>(fields: Fields<Value>, ...optional: readonly OptionalKeys<Value>[]): Guard<Value> =>
  (value): value is Value =>
    isRecord(value) && hasExactly(value, fields, optional)

/** One of several shapes, told apart by the string in `tag`. */
export const tagged = <Tag extends string, Value extends { readonly [Key in Tag]: string }>(
  tag: Tag,
  cases: { readonly [Name in Value[Tag]]: Guard<Extract<Value, { readonly [Key in Tag]: Name }>> },
): Guard<Value> => {
  const guards: Readonly<Record<string, Guard<unknown>>> = cases
  return (value): value is Value => {
    if (!isRecord(value)) return false
    const name = value[tag]
    return typeof name === "string" && Object.hasOwn(guards, name) && guards[name]?.(value) === true
  }
}

/** A result of a request: a value or a failure. */
export const either =
  <Left, Right>(left: Guard<Left>, right: Guard<Right>): Guard<Left | Right> =>
  (value): value is Left | Right =>
    left(value) || right(value)
