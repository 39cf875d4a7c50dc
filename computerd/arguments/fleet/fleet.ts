/** Reads `computerd fleet …`. Pure: paths are made absolute, nothing is looked up. */
import { resolve } from "node:path"
import { fail, ok, type Result } from "@computerd/protocol/errors"
import { type FlagSpec, readOptions } from "../options.ts"
import type { FleetCommand } from "./command.ts"
import { readKeys } from "./keys.ts"
import { fleetVerbs, type Verb } from "./verbs.ts"

const text = { type: "string" } as const satisfies FlagSpec
const placeFlags = { url: text, "key-file": text, json: { type: "boolean" } } as const

const refuse = (message: string): Result<never> => fail("invalid_arguments", message)

interface Found {
  readonly name: string
  readonly verb: Verb
  readonly rest: readonly string[]
}

/** Some verbs are two words. */
const find = (argv: readonly string[]): Found | undefined => {
  for (const length of [2, 1]) {
    const name = argv.slice(0, length).join(" ")
    const verb = Object.hasOwn(fleetVerbs, name) ? fleetVerbs[name] : undefined
    if (verb !== undefined && argv.length >= length) return { name, verb, rest: argv.slice(length) }
  }
  return undefined
}

const readWork = ({ name, verb, rest }: Found, cwd: string): Result<FleetCommand> => {
  const options = readOptions(rest, { ...placeFlags, ...verb.flags })
  if (!options.ok) return options
  const { positionals } = options.value
  const missing = verb.words[positionals.length]
  if (missing !== undefined) return refuse(`fleet ${[name, ...verb.words].join(" ")}: ${missing} is missing`)
  const surplus = positionals[verb.words.length]
  if (surplus !== undefined) return refuse(`"${surplus}" is not expected here`)
  const word = (wanted: string): string => positionals[verb.words.indexOf(wanted)] ?? ""
  const empty = verb.words.find((wanted) => word(wanted) === "")
  if (empty !== undefined) return refuse(`${empty} is empty`)
  const work = verb.read({ word, options: options.value, cwd })
  if (!work.ok) return work
  const keyFile = options.value.text("key-file")
  return ok({
    verb: "fleet",
    work: work.value,
    url: options.value.text("url"),
    keyFile: keyFile === undefined ? undefined : resolve(cwd, keyFile),
    json: options.value.on("json"),
  })
}

/** `argv` is what follows `fleet`. */
export const readFleet = (argv: readonly string[], cwd: string): Result<FleetCommand> => {
  const [first, ...rest] = argv
  if (first === undefined) return refuse("a verb of fleet is missing")
  if (first === "help") return ok({ verb: "fleet help" })
  if (first === "keys") return readKeys(rest, cwd)
  const found = find(argv)
  return found === undefined ? refuse(`"${first}" is no verb of fleet`) : readWork(found, cwd)
}
