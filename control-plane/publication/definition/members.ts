/** Takes apart what an author wrote, without showing it: a refused key is named only when it looks like a name. */
import { ok, type Result } from "@computerd/protocol/errors"
import { invalid } from "./field.ts"

type Members<Name extends string> = { readonly [Key in Name]?: unknown }

const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null && !Array.isArray(value)

const nameLike = /^[A-Za-z]\w{0,31}$/

/** The members of an object that has no others than these. */
export const membersOf = <const Name extends string>(
  value: unknown,
  names: readonly Name[],
  field: string,
): Result<Members<Name>> => {
  if (!isRecord(value)) return invalid(field, `must be an object with ${names.join(" and ")}`)
  const known: readonly string[] = names
  const unknown = Object.keys(value).find((key) => !known.includes(key))
  if (unknown !== undefined)
    return nameLike.test(unknown)
      ? invalid(`${field}.${unknown}`, "is not a known field")
      : invalid(field, "has a field that is not known here")
  const members: { [Key in Name]?: unknown } = {}
  for (const name of names) members[name] = value[name]
  return ok(members)
}

interface List<Item> {
  readonly max: number
  readonly item: (value: unknown, field: string) => Result<Item>
}

/** Every item of an array, or what is wrong with the first one that is refused. */
export const itemsOf = <Item>(
  value: unknown,
  { max, item }: List<Item>,
  field: string,
): Result<readonly Item[]> => {
  if (!Array.isArray(value)) return invalid(field, "must be an array")
  if (value.length > max) return invalid(field, `has more than ${max} entries`)
  const items: Item[] = []
  for (const [index, one] of value.entries()) {
    const parsed = item(one, `${field}[${index}]`)
    if (!parsed.ok) return parsed
    items.push(parsed.value)
  }
  return ok(items)
}
