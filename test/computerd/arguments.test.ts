import { expect, test } from "bun:test"
import { readCommand } from "@computerd/computerd/arguments/command"

const read = (line: string) => readCommand(line === "" ? [] : line.split(" "), { cwd: "/here" })
const refusal = (line: string): string => {
  const command = read(line)
  return command.ok ? "accepted" : command.error.message
}

test("dev takes a program, an Agent and an input, with paths made absolute", () => {
  const full = "dev ../there --agent a --input hello --env A=1 --env B=x=y --state s --unenforced --json"
  expect(read(full)).toEqual({
    ok: true,
    value: {
      verb: "dev",
      program: "/there",
      agent: "a",
      input: "hello",
      variables: { A: "1", B: "x=y" },
      state: "/here/s",
      unenforced: true,
      privateRanges: [],
      json: true,
    },
  })
  const empty = readCommand(["dev", "p", "--agent", "a", "--input", ""], { cwd: "/" })
  expect(empty).toMatchObject({ ok: true, value: { input: "" } })
})

test("each wrong argument is refused by name", () => {
  const expected: Readonly<Record<string, string>> = {
    "": "a verb is missing",
    fly: '"fly" is no verb',
    "dev --agent a --input i": "dev needs PROGRAM",
    "dev p q --agent a --input i": '"q" is not expected',
    "dev p --input i": "dev needs --agent",
    "dev p --agent a": "dev needs --input",
    "dev p --agent a --input i --fast": "Unknown option '--fast'",
    "dev p --agent a --agent b --input i": "--agent is given twice",
    "dev p --agent= --input i": "--agent needs a value",
    "dev p --agent": "--agent <value>",
    "dev p --agent a --input i --json=yes": "--json",
    "dev p --agent a --input i --env 1A=x": "--env must be NAME=VALUE",
    "dev p --agent a --input i --env A": "--env must be NAME=VALUE",
    "dev p --agent a --input i --env A=1 --env A=2": "--env gives A twice",
    "control-plane": "control-plane needs --state",
    "control-plane --state s --listen here": "--listen must be HOST:PORT",
    "control-plane --state s --listen 127.0.0.1:70000": "--listen must be HOST:PORT",
    "control-plane --state s more": '"more" is not expected',
    "control-plane --state s --capacity 0": "--capacity must be a whole number from 1",
    "dev p --agent a --input i --capacity many": "--capacity must be a whole number from 1",
    "control-plane --state s --private-range 8.8.8.0/24": "--private-range: a private range must lie in",
    status: "status needs --state",
    "status --state s --socket t": "--state or --socket, not both",
  }
  for (const [line, message] of Object.entries(expected)) expect(refusal(line)).toContain(message)
})

test("an empty value is refused by name wherever one is expected", () => {
  const message = (...argv: readonly string[]) => {
    const command = readCommand(argv, { cwd: "/here" })
    return command.ok ? "accepted" : command.error.message
  }
  const agent = ["--agent", "a", "--input", ""]
  expect(message("dev", "", ...agent)).toContain("PROGRAM is empty")
  expect(message("dev", "p", ...agent, "--state", "")).toBe("--state needs a value")
  expect(message("dev", "p", ...agent, "--env", "")).toBe("--env needs a value")
  expect(message("dev", "p", ...agent, "--capacity", "")).toBe("--capacity needs a value")
  expect(message("dev", "p", "--agent", "", "--input", "i")).toBe("--agent needs a value")
  expect(message("control-plane", "--state", "")).toBe("--state needs a value")
  expect(message("control-plane", "--state", "s", "--listen", "")).toBe("--listen needs a value")
  expect(message("status", "--socket", "")).toBe("--socket needs a value")
  expect(message("")).toContain('"" is no verb')
})

test("a value that may be a secret is not repeated", () => {
  expect(refusal("dev p --agent a --input i --env hunter2")).not.toContain("hunter2")
})

test("control-plane listens on loopback unless it is told otherwise", () => {
  const listen = (line: string) => {
    const command = read(`control-plane --state s${line}`)
    return command.ok && command.value.verb === "control-plane" ? command.value.listen : undefined
  }
  expect(listen("")).toEqual({ hostname: "127.0.0.1", port: 0 })
  expect(listen(" --listen 7070")).toEqual({ hostname: "127.0.0.1", port: 7070 })
  expect(listen(" --listen [::1]:7070")).toEqual({ hostname: "::1", port: 7070 })
  expect(listen(" --listen 127.0.0.2:1")).toEqual({ hostname: "127.0.0.2", port: 1 })
  expect(listen(" --listen localhost:1")).toEqual({ hostname: "localhost", port: 1 })
})

test("an address that others may reach is refused, and no name is looked up", () => {
  const others = ["0.0.0.0:0", "[::]:0", "10.0.0.1:1", "example.com:0", "127.0.0.1.example.com:1", "127.1:1"]
  for (const address of [...others, "128.0.0.1:1", "127.0.0.256:1", "[::ffff:127.0.0.1]:1"])
    expect(refusal(`control-plane --state s --listen ${address}`)).toMatch(
      /^--listen must be (on loopback|HOST:PORT)/,
    )
})

test("the public API is off unless it is asked for, and leaves loopback only behind a proxy", () => {
  const api = (line: string) => {
    const command = read(`control-plane --state s${line}`)
    return command.ok && command.value.verb === "control-plane" ? command.value.api : command
  }
  expect(api("")).toBeUndefined()
  expect(api(" --api 7080")).toEqual({ hostname: "127.0.0.1", port: 7080, behindProxy: false })
  expect(api(" --api 0.0.0.0:7080 --api-behind-proxy")).toEqual({
    hostname: "0.0.0.0",
    port: 7080,
    behindProxy: true,
  })
  expect(refusal("control-plane --state s --api 0.0.0.0:7080")).toContain("--api-behind-proxy")
  expect(refusal("control-plane --state s --api x")).toContain("--api must be HOST:PORT")
  expect(refusal("control-plane --state s --api-behind-proxy")).toBe("--api-behind-proxy needs --api")
})

test("private ranges are given one by one", () => {
  const ranges = ["10.60.0.0/16", "192.168.7.0/24"]
  const flags = ranges.map((range) => `--private-range ${range}`).join(" ")
  expect(read(`control-plane --state s ${flags}`)).toMatchObject({ value: { privateRanges: ranges } })
  expect(read(`dev p --agent a --input i ${flags}`)).toMatchObject({ value: { privateRanges: ranges } })
})

test("a capacity is a number of Computers, and there is none unless it is given", () => {
  const capacity = (line: string) => {
    const command = read(line)
    return command.ok && "capacity" in command.value ? command.value.capacity : "none"
  }
  expect(capacity("control-plane --state s")).toBe("none")
  expect(capacity("control-plane --state s --capacity 12")).toBe(12)
  expect(capacity("dev p --agent a --input i --capacity 1")).toBe(1)
})

test("run hands its flags to the supervisor, and help is found anywhere", () => {
  expect(read("run --config f --log-level debug")).toEqual({
    ok: true,
    value: { verb: "run", argv: ["--config", "f", "--log-level", "debug"] },
  })
  for (const line of ["--help", "help", "dev --help", "run -h"])
    expect(read(line)).toEqual({ ok: true, value: { verb: "help" } })
  expect(read("--version")).toEqual({ ok: true, value: { verb: "version" } })
})
