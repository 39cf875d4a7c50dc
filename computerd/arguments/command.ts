/** What the command line asks for. Pure: paths are made absolute, nothing is looked up. */
import { resolve } from "node:path"
import type { ApiListen } from "@computerd/control-plane/api/server"
import { fail, ok, type Result } from "@computerd/protocol/errors"
import type { FleetCommand } from "./fleet/command.ts"
import { readFleet } from "./fleet/fleet.ts"
import { type FlagSpec, type Options, readOptions } from "./options.ts"
import { type Listen, readApi, readCapacity, readListen, readPrivateRanges, readVariables } from "./values.ts"

export interface DevCommand {
  readonly verb: "dev"
  readonly program: string
  readonly agent: string
  readonly input: string
  /** Environment of the program's top level at publication. */
  readonly variables: Readonly<Record<string, string>>
  /** Absent: a temporary one, removed at the end. */
  readonly state?: string
  readonly unenforced: boolean
  /** Computers that may run at once; absent: no limit. */
  readonly capacity?: number
  /** That network policies may name. */
  readonly privateRanges: readonly string[]
  readonly json: boolean
}

export type Command =
  | { readonly verb: "help" }
  | { readonly verb: "version" }
  /** The supervisor reads its own flags: each configuration key has one. */
  | { readonly verb: "run"; readonly argv: readonly string[] }
  | {
      readonly verb: "control-plane"
      readonly state: string
      readonly listen: Listen
      readonly unenforced: boolean
      readonly capacity?: number
      readonly privateRanges: readonly string[]
      /** Absent: no public API. */
      readonly api?: ApiListen
    }
  | DevCommand
  | FleetCommand
  | { readonly verb: "status"; readonly place: StatusPlace; readonly json: boolean }

export type StatusPlace =
  | { readonly kind: "state"; readonly directory: string }
  | { readonly kind: "socket"; readonly path: string }

interface Where {
  readonly cwd: string
}

const text = { type: "string" } as const satisfies FlagSpec
const toggle = { type: "boolean" } as const satisfies FlagSpec

const refuse = (message: string): Result<never> => fail("invalid_arguments", message)

const noPositionals = (options: Options): Result<Options> =>
  options.positionals[0] === undefined
    ? ok(options)
    : refuse(`"${options.positionals[0]}" is not expected here`)

const flagsOnly = (argv: readonly string[], flags: Readonly<Record<string, FlagSpec>>): Result<Options> => {
  const options = readOptions(argv, flags)
  return options.ok ? noPositionals(options.value) : options
}

const installationFlags = {
  unenforced: toggle,
  capacity: text,
  "private-range": { type: "string", multiple: true },
} as const satisfies Readonly<Record<string, FlagSpec>>

interface Installation {
  readonly unenforced: boolean
  readonly capacity?: number
  readonly privateRanges: readonly string[]
}

/** What is said of the installation as a whole. */
const installationOf = (options: Options): Result<Installation> => {
  const capacity = readCapacity(options.text("capacity"))
  if (!capacity.ok) return capacity
  const privateRanges = readPrivateRanges(options.texts("private-range"))
  if (!privateRanges.ok) return privateRanges
  return ok({
    unenforced: options.on("unenforced"),
    ...(capacity.value === undefined ? {} : { capacity: capacity.value }),
    privateRanges: privateRanges.value,
  })
}

const devFlags = {
  agent: text,
  input: { type: "string", mayBeEmpty: true },
  env: { type: "string", multiple: true },
  state: text,
  ...installationFlags,
  json: toggle,
} as const

const dev = (argv: readonly string[], { cwd }: Where): Result<Command> => {
  const options = readOptions(argv, devFlags)
  if (!options.ok) return options
  const [program, surplus] = options.value.positionals
  if (program === undefined) return refuse("dev needs PROGRAM, the directory of a program")
  if (program === "") return refuse("PROGRAM is empty; name the directory of a program")
  if (surplus !== undefined) return refuse(`"${surplus}" is not expected here: dev takes one PROGRAM`)
  const agent = options.value.text("agent")
  if (agent === undefined) return refuse("dev needs --agent, the id of the Agent to start")
  const input = options.value.text("input")
  if (input === undefined) return refuse("dev needs --input, the text of the first Turn")
  const variables = readVariables(options.value.texts("env"))
  if (!variables.ok) return variables
  const installation = installationOf(options.value)
  if (!installation.ok) return installation
  const state = options.value.text("state")
  return ok({
    verb: "dev",
    program: resolve(cwd, program),
    agent,
    input,
    variables: variables.value,
    ...(state === undefined ? {} : { state: resolve(cwd, state) }),
    ...installation.value,
    json: options.value.on("json"),
  })
}

const controlPlane = (argv: readonly string[], { cwd }: Where): Result<Command> => {
  const options = flagsOnly(argv, {
    state: text,
    listen: text,
    api: text,
    "api-behind-proxy": toggle,
    ...installationFlags,
  })
  if (!options.ok) return options
  const state = options.value.text("state")
  if (state === undefined) return refuse("control-plane needs --state, its state directory")
  const listen = readListen(options.value.text("listen"))
  if (!listen.ok) return listen
  const api = readApi(options.value.text("api"), options.value.on("api-behind-proxy"))
  if (!api.ok) return api
  const installation = installationOf(options.value)
  if (!installation.ok) return installation
  return ok({
    verb: "control-plane",
    state: resolve(cwd, state),
    listen: listen.value,
    ...(api.value === undefined ? {} : { api: api.value }),
    ...installation.value,
  })
}

const status = (argv: readonly string[], { cwd }: Where): Result<Command> => {
  const options = flagsOnly(argv, { state: text, socket: text, json: toggle })
  if (!options.ok) return options
  const directory = options.value.text("state")
  const socket = options.value.text("socket")
  const json = options.value.on("json")
  if (directory !== undefined && socket !== undefined) return refuse("give --state or --socket, not both")
  if (directory !== undefined)
    return ok({ verb: "status", place: { kind: "state", directory: resolve(cwd, directory) }, json })
  if (socket !== undefined)
    return ok({ verb: "status", place: { kind: "socket", path: resolve(cwd, socket) }, json })
  return refuse("status needs --state, a supervisor's state directory, or --socket, its operator socket")
}

const asksForHelp = (argv: readonly string[]): boolean => {
  const end = argv.indexOf("--")
  return (end === -1 ? argv : argv.slice(0, end)).some(
    (argument) => argument === "--help" || argument === "-h",
  )
}

const verbs = "dev, run, control-plane, status and fleet"

/** `argv` is what follows the command's own name. */
export const readCommand = (argv: readonly string[], where: Where): Result<Command> => {
  const [verb, ...rest] = argv
  if (verb === "fleet" && asksForHelp(rest)) return ok({ verb: "fleet help" })
  if (verb === "help" || asksForHelp(argv)) return ok({ verb: "help" })
  switch (verb) {
    case undefined:
      return refuse(`a verb is missing: ${verbs}`)
    case "--version":
      return ok({ verb: "version" })
    case "run":
      return ok({ verb: "run", argv: rest })
    case "dev":
      return dev(rest, where)
    case "control-plane":
      return controlPlane(rest, where)
    case "status":
      return status(rest, where)
    case "fleet":
      return readFleet(rest, where.cwd)
    default:
      return refuse(`"${verb}" is no verb: there are ${verbs}`)
  }
}
