/** Definitions among a bundle's exports, recognised by their brand: the program carries a copy of the sdk of its own. */
import { type DefinitionKind, definition } from "@helmr/sdk/definition"

export type Callable = (...args: readonly unknown[]) => unknown

export const isCallable = (value: unknown): value is Callable => typeof value === "function"

export const isDefinition = (
  value: unknown,
  kind: DefinitionKind,
): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null && Reflect.get(value, definition) === kind

export interface Exported {
  readonly name: string
  readonly value: unknown
}

/** Sorted by name, `default` last; an object that is exported twice appears once, under its first name. */
export const exportsOf = (module: object): readonly Exported[] => {
  const names = Object.keys(module).sort()
  const ordered = [
    ...names.filter((name) => name !== "default"),
    ...names.filter((name) => name === "default"),
  ]
  const seen = new Set<unknown>()
  return ordered.flatMap((name) => {
    const value: unknown = Reflect.get(module, name)
    if (seen.has(value)) return []
    seen.add(value)
    return [{ name, value }]
  })
}
