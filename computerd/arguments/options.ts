/** Reads the flags of one verb strictly: what it does not know, lacks or gets twice is named. */
import { parseArgs } from "node:util"
import { fail, ok, type Result } from "@computerd/protocol/errors"

export interface FlagSpec {
  readonly type: "string" | "boolean"
  /** May be given more than once. */
  readonly multiple?: boolean
  readonly mayBeEmpty?: boolean
}

export interface Options {
  readonly text: (name: string) => string | undefined
  readonly texts: (name: string) => readonly string[]
  readonly on: (name: string) => boolean
  readonly positionals: readonly string[]
}

const usage = (message: string, field?: string): Result<never> => fail("invalid_arguments", message, field)

/** The message that names the flag, without the advice that follows it. */
const refusal = (error: unknown): Result<never> => {
  const message = error instanceof Error ? error.message : String(error)
  return usage(message.split(/\. |\n/)[0] ?? message)
}

const parsed = (argv: readonly string[], flags: Readonly<Record<string, FlagSpec>>) => {
  try {
    return ok(
      parseArgs({
        args: [...argv],
        options: Object.fromEntries(
          Object.entries(flags).map(([name, { type }]) => [name, { type, multiple: true }] as const),
        ),
        strict: true,
        allowPositionals: true,
      }),
    )
  } catch (error) {
    return refusal(error)
  }
}

export const readOptions = (
  argv: readonly string[],
  flags: Readonly<Record<string, FlagSpec>>,
): Result<Options> => {
  const given = parsed(argv, flags)
  if (!given.ok) return given
  const { values, positionals } = given.value
  const all = new Map(Object.entries(values).map(([name, value]) => [name, [value].flat()] as const))
  for (const [name, entries] of all) {
    if (entries.length > 1 && flags[name]?.multiple !== true) return usage(`--${name} is given twice`, name)
    if (entries.includes("") && flags[name]?.mayBeEmpty !== true)
      return usage(`--${name} needs a value`, name)
  }
  const texts = (name: string): readonly string[] =>
    (all.get(name) ?? []).filter((value) => typeof value === "string")
  return ok({
    text: (name) => texts(name)[0],
    texts,
    on: (name) => all.get(name)?.[0] === true,
    positionals,
  })
}
