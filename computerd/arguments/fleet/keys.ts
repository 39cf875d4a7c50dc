/** `computerd fleet keys …`: made, listed and revoked over the control plane's own socket. Pure. */
import { resolve } from "node:path"
import { Permission } from "@computerd/protocol/api/permissions"
import { fail, ok, type Result } from "@computerd/protocol/errors"
import { ApiKeyId, EnvironmentKey } from "@computerd/protocol/ids"
import { judge } from "@computerd/protocol/judge"
import { type FlagSpec, type Options, readOptions } from "../options.ts"
import type { FleetCommand, KeyWork } from "./command.ts"

const text = { type: "string" } as const satisfies FlagSpec
const common = { state: text, json: { type: "boolean" } } as const

const flagsOf: Readonly<Record<KeyWork["verb"], Readonly<Record<string, FlagSpec>>>> = {
  list: common,
  create: {
    ...common,
    name: text,
    permission: { type: "string", multiple: true },
    environment: text,
    out: text,
  },
  revoke: common,
}

const refuse = (message: string): Result<never> => fail("invalid_arguments", message)

const readPermissions = (given: readonly string[]): Result<readonly Permission[]> => {
  const names: readonly string[] = given.flatMap((one) => one.split(","))
  if (names.length === 1 && names[0] === "all") return ok(Permission.options)
  const unknown = names.find((name) => !Permission.safeParse(name).success)
  if (unknown !== undefined || names.length === 0)
    return refuse(
      `keys create needs --permission, "all" or some of ${Permission.options.join(", ")}${unknown === undefined ? "" : `; "${unknown}" is none`}`,
    )
  return ok(Permission.options.filter((permission) => names.includes(permission)))
}

const readCreation = (options: Options, cwd: string): Result<KeyWork> => {
  const name = options.text("name")
  if (name === undefined) return refuse("keys create needs --name, by which people know the key")
  const permissions = readPermissions(options.texts("permission"))
  if (!permissions.ok) return permissions
  const environment = judge(EnvironmentKey, options.text("environment") ?? "default")
  if (!environment.ok) return refuse(`--environment ${environment.error.message}`)
  const out = options.text("out")
  return ok({
    verb: "create",
    name,
    permissions: permissions.value,
    environment: environment.value,
    out: out === undefined ? undefined : resolve(cwd, out),
  })
}

const readRevocation = (word: string | undefined): Result<KeyWork> => {
  if (word === undefined) return refuse("keys revoke needs KEY, the id of a key")
  const keyId = judge(ApiKeyId, word)
  return keyId.ok ? ok({ verb: "revoke", keyId: keyId.value }) : refuse(`KEY ${keyId.error.message}`)
}

const workOf = (
  verb: KeyWork["verb"],
  options: Options,
  { words, cwd }: { readonly words: readonly string[]; readonly cwd: string },
): Result<KeyWork> => {
  switch (verb) {
    case "list":
      return ok({ verb })
    case "revoke":
      return readRevocation(words[0])
    case "create":
      return readCreation(options, cwd)
  }
}

const isVerb = (word: string): word is KeyWork["verb"] => Object.hasOwn(flagsOf, word)

/** `argv` is what follows `fleet keys`. */
export const readKeys = (argv: readonly string[], cwd: string): Result<FleetCommand> => {
  const [first] = argv
  const named = first !== undefined && !first.startsWith("-")
  const verb = named ? first : "list"
  if (!isVerb(verb)) return refuse(`"${verb}" is no verb of fleet keys: there are list, create and revoke`)
  const options = readOptions(named ? argv.slice(1) : argv, flagsOf[verb])
  if (!options.ok) return options
  const words = options.value.positionals
  const surplus = words[verb === "revoke" ? 1 : 0]
  if (surplus !== undefined) return refuse(`"${surplus}" is not expected here`)
  const state = options.value.text("state")
  if (state === undefined) return refuse("fleet keys needs --state, the control plane's state directory")
  const work = workOf(verb, options.value, { words, cwd })
  if (!work.ok) return work
  return ok({
    verb: "fleet keys",
    work: work.value,
    state: resolve(cwd, state),
    json: options.value.on("json"),
  })
}
