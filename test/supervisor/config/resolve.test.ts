import { afterAll, beforeAll, expect, test } from "bun:test"
import { chmodSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { idSource } from "@computerd/protocol/ids"
import { readCredential } from "@computerd/supervisor/config/credential"
import { configurationFields, configurationKeys } from "@computerd/supervisor/config/fields"
import { resolveConfiguration } from "@computerd/supervisor/config/resolve"

let directory: string
let complete: Readonly<Record<string, unknown>>
const computerId = idSource(() => Bun.randomUUIDv7())("cmp")

beforeAll(() => {
  directory = mkdtempSync(join(tmpdir(), "computerd-config-"))
  mkdirSync(join(directory, "workspace"))
  writeFileSync(join(directory, "credential"), "secret-credential\n", { mode: 0o600 })
  complete = {
    computerId,
    controlPlaneUrl: "http://127.0.0.1:4000",
    credentialFile: join(directory, "credential"),
    stateDirectory: join(directory, "state"),
    workspace: join(directory, "workspace"),
    sessionHost: ["bun", "/session-host.js"],
  }
})

afterAll(() => rmSync(directory, { recursive: true, force: true }))

let files = 0
const configFile = (content: unknown): string => {
  files += 1
  const path = join(directory, `config-${files}.json`)
  writeFileSync(path, typeof content === "string" ? content : JSON.stringify(content))
  return path
}

const resolve = (content: unknown, argv: readonly string[] = [], environment: Record<string, string> = {}) =>
  resolveConfiguration({ argv: ["--config", configFile(content), ...argv], environment })

const problem = async (...args: Parameters<typeof resolve>): Promise<string> => {
  const result = await resolve(...args)
  if (result.ok) throw new Error("the configuration was accepted")
  expect(["invalid_configuration", "invalid_arguments"]).toContain(result.error.code)
  return result.error.message
}

test("a file alone gives a complete configuration, defaults included", async () => {
  const result = await resolve(complete)
  expect(result).toEqual({
    ok: true,
    value: {
      ...complete,
      ports: { first: 20_000, last: 31_999 },
      environment: {},
      limits: {},
      logLevel: "info",
      lifeline: false,
    } as never,
  })
})

test("flags win over the environment and the environment over the file; an empty variable is unset", async () => {
  const environment = { COMPUTERD_LOG_LEVEL: "warn", COMPUTERD_PORTS: "21000-21999", COMPUTERD_WORKSPACE: "" }
  const result = await resolve({ ...complete, logLevel: "error" }, ["--ports=22000-22999"], environment)
  expect(result).toMatchObject({
    ok: true,
    value: {
      logLevel: "warn",
      ports: { first: 22_000, last: 22_999 },
      workspace: join(directory, "workspace"),
    },
  })
})

test("every key can be given as a variable and as a flag, and each gives the same as in the file", async () => {
  const range = { first: 23_000, last: 23_999 }
  const everything: Readonly<Record<string, unknown>> = {
    ...complete,
    ports: range,
    environment: { REGION: "north" },
    limits: { memoryBytes: 512 * 1024 * 1024, pids: 200 },
    logLevel: "debug",
    lifeline: true,
  }
  expect(Object.keys(everything).toSorted()).toEqual([...configurationKeys].toSorted())
  const textOf = (value: unknown): string => {
    if (typeof value === "string") return value
    return value === range ? "23000-23999" : JSON.stringify(value)
  }
  const variables = Object.fromEntries(
    configurationKeys.map((key) => [configurationFields[key].variable, textOf(everything[key])]),
  )
  const flags = configurationKeys.map((key) => `${configurationFields[key].flag}=${textOf(everything[key])}`)
  const inFile = await resolve(everything)
  expect(inFile.ok).toBe(true)
  expect(await resolveConfiguration({ argv: [], environment: variables })).toEqual(inFile)
  expect(await resolveConfiguration({ argv: flags, environment: {} })).toEqual(inFile)
})

test("COMPUTERD_CONFIG names the file and a flag overrides it", async () => {
  const wrong = configFile("{}")
  const right = configFile(complete)
  const named = await resolveConfiguration({ argv: [], environment: { COMPUTERD_CONFIG: right } })
  expect(named.ok).toBe(true)
  const both = await resolveConfiguration({
    argv: ["--config", right],
    environment: { COMPUTERD_CONFIG: wrong },
  })
  expect(both.ok).toBe(true)
})

test("a missing key is named with every way to set it", async () => {
  const { workspace: _, ...rest } = complete
  const message = await problem(rest)
  for (const part of ["workspace is missing", "COMPUTERD_WORKSPACE", "--workspace"])
    expect(message).toContain(part)
})

test("a bad value is named by key and place, and never shown", async () => {
  const inFile = await problem({ ...complete, ports: { first: 5, last: 70_000 } })
  expect(inFile).toMatch(/^ports\.first in .*config-\d+\.json: /)
  expect(await problem(complete, [], { COMPUTERD_COMPUTER_ID: "cmp_hunter2" })).toMatch(
    /^computerId \(COMPUTERD_COMPUTER_ID\): must be a ComputerId/,
  )
  expect(await problem(complete, ["--session-host", "[hunter2"])).toBe(
    "sessionHost (--session-host) must be JSON",
  )
  expect(await problem(complete, ["--lifeline=yes"])).toContain(
    'lifeline (--lifeline) must be "true" or "false"',
  )
  expect(await problem({ ...complete, limits: { memoryBytes: 5 } })).toMatch(/^limits\.memoryBytes in .*: /)
  expect(await problem(complete, [], { COMPUTERD_LIMITS: '{"pids":0}' })).toMatch(
    /^limits\.pids \(COMPUTERD_LIMITS\): /,
  )
  expect(await problem(complete, ['--limits={"cpus":2}'])).toStartWith("limits")
  expect(await problem({ ...complete, stateDirectory: "relative/hunter2" })).toContain(
    "must be an absolute path",
  )
  expect(await problem({ ...complete, environment: { "not a name": "hunter2" } })).toStartWith("environment")
  for (const message of [await problem(complete, [], { COMPUTERD_COMPUTER_ID: "cmp_hunter2" })])
    expect(message).not.toContain("hunter2")
})

test("unknown keys, variables and flags are refused by name", async () => {
  expect(await problem({ ...complete, colour: "red" })).toMatch(/^colour in .* is not a known key/)
  expect(await problem(complete, [], { COMPUTERD_COLOUR: "red" })).toContain("COMPUTERD_COLOUR")
  expect(await problem(complete, ["--colour", "red"])).toContain("--colour is not a known flag")
  expect(await problem(complete, ["run"])).toContain("run is not a known flag")
  expect(await problem(complete, ["--workspace"])).toBe("--workspace needs a value")
  expect(await problem(complete, ["--workspace", "--lifeline"])).toBe("--workspace needs a value")
})

test("a mistake of the command line is not one of the configuration", async () => {
  const code = async (argv: readonly string[], file: object = complete): Promise<string> => {
    const result = await resolveConfiguration({
      argv: ["--config", configFile(file), ...argv],
      environment: {},
    })
    return result.ok ? "accepted" : result.error.code
  }
  for (const argv of [
    ["--frob"],
    ["--workspace"],
    ["--workspace="],
    ["--ports", "x"],
    ["--log-level", "loud"],
  ])
    expect([argv, await code(argv)]).toEqual([argv, "invalid_arguments"])
  expect(await code(["--log-level", "info", "--log-level", "warn"])).toBe("invalid_arguments")
  expect(await code(["--config", ""])).toBe("invalid_arguments")
  expect(await code(["--workspace", "/nonexistent"])).toBe("invalid_arguments")
  expect(await code([], { ...complete, logLevel: "loud" })).toBe("invalid_configuration")
  expect(await code(["--log-level", "loud"], { ...complete, workspace: 7 })).toBe("invalid_configuration")
  expect(await code([], { ...complete, workspace: "/nonexistent" })).toBe("invalid_configuration")
  const empty = await resolveConfiguration({ argv: ["--config", ""], environment: {} })
  expect(empty.ok ? "accepted" : empty.error.message).toBe("--config needs a value")
})

test("every key that is missing or wrong is told at once", async () => {
  const { workspace: _, credentialFile: __, ...rest } = complete
  const message = await problem({ ...rest, logLevel: "loud" })
  expect(message).toMatch(
    /credentialFile is missing; .*; workspace is missing; .*; logLevel in .*: must be one of "debug"/,
  )
})

test("an unreadable file says why", async () => {
  const read = async (path: string): Promise<string> => {
    const result = await resolveConfiguration({ argv: ["--config", path], environment: {} })
    return result.ok ? "accepted" : result.error.message
  }
  expect(await read("/nonexistent.json")).toBe("configuration file /nonexistent.json does not exist")
  expect(await read(directory)).toBe(`configuration file ${directory} is a directory`)
  expect(await read(configFile("{"))).toContain("is not JSON")
  expect(await read(configFile("[]"))).toContain("must hold one JSON object")
})

test("a workspace that is no directory and a credential that others may read stop the start", async () => {
  expect(await problem({ ...complete, workspace: "/nonexistent" })).toContain(
    "/nonexistent is not a directory",
  )
  const open = join(directory, "open-credential")
  writeFileSync(open, "secret-credential")
  chmodSync(open, 0o640)
  const message = await problem({ ...complete, credentialFile: open })
  expect(message).toMatch(/^credentialFile in .*: .* has mode 0640 .*; make it 0600$/)
  expect(message).not.toContain("secret-credential")
})

test("a credential is one line of a regular file that its owner alone may read", () => {
  const write = (name: string, content: string, mode = 0o600): string => {
    const path = join(directory, name)
    writeFileSync(path, content)
    chmodSync(path, mode)
    return path
  }
  const messageOf = (path: string): string => {
    const result = readCredential(path)
    return result.ok ? `accepted ${result.value}` : result.error.message
  }
  expect(messageOf(write("good", "abc\n"))).toBe("accepted abc")
  expect(messageOf(write("read-only", "abc", 0o400))).toBe("accepted abc")
  for (const mode of [0o640, 0o604, 0o620, 0o660, 0o666, 0o677])
    expect(messageOf(write("others", "abc", mode))).toContain("make it 0600")
  expect(messageOf(write("empty", " \n"))).toContain("is empty")
  expect(messageOf(write("two-lines", "abc\ndef"))).toContain("one line")
  expect(messageOf(write("long", "a".repeat(5_000)))).toContain("larger than")
  expect(messageOf(directory)).toContain("must be a regular file")
  expect(messageOf("/nonexistent")).toContain("cannot be read (ENOENT)")
  const link = join(directory, "link")
  symlinkSync(write("target", "abc", 0o644), link)
  expect(messageOf(link)).toContain("make it 0600")
  const fifo = join(directory, "fifo")
  expect(Bun.spawnSync(["mkfifo", "-m", "600", fifo]).exitCode).toBe(0)
  expect(messageOf(fifo)).toContain("must be a regular file")
})

test("a credential is read anew each time", () => {
  const path = join(directory, "rotating")
  writeFileSync(path, "first", { mode: 0o600 })
  expect(readCredential(path)).toEqual({ ok: true, value: "first" })
  writeFileSync(path, "second")
  expect(readCredential(path)).toEqual({ ok: true, value: "second" })
})
