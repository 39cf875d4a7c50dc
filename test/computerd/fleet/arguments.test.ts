import { expect, test } from "bun:test"
import { readCommand } from "@computerd/computerd/arguments/command"
import { fleetHelp } from "@computerd/computerd/arguments/fleet/help"
import { fleetVerbs } from "@computerd/computerd/arguments/fleet/verbs"
import { Permission } from "@computerd/protocol/api/permissions"
import { ApiKeyId, EnvironmentKey } from "@computerd/protocol/ids"

const read = (line: string) => readCommand(`fleet ${line}`.trim().split(" "), { cwd: "/here" })
const work = (line: string) => {
  const command = read(line)
  if (!command.ok) throw new Error(command.error.message)
  return command.value.verb === "fleet" || command.value.verb === "fleet keys"
    ? command.value.work
    : command.value.verb
}
const refusal = (line: string): string => {
  const command = read(line)
  return command.ok ? "accepted" : command.error.message
}

test("every verb takes its words and flags, with paths made absolute", () => {
  const keyed = { idempotencyKey: undefined }
  const stdin = { kind: "stdin" } as const
  const text = { kind: "text", text: "x" } as const
  expect(work("deploy ../p --no-gitignore --idempotency-key k")).toEqual({
    verb: "deploy",
    directory: "/p",
    gitignore: false,
    idempotencyKey: "k",
  })
  expect(work("start a --input - --session-key s --computer c --follow")).toEqual({
    verb: "start",
    agent: "a",
    input: stdin,
    sessionKey: "s",
    computerId: "c",
    afterwards: "follow",
    ...keyed,
  })
  expect(work("sessions --status closed --limit 200 --root r")).toMatchObject({
    verb: "sessions",
    status: "closed",
    limit: 200,
    rootSessionId: "r",
  })
  expect(work("enqueue s --input x")).toMatchObject({ sessionId: "s", input: text, afterwards: "leave" })
  expect(work("enqueue s --input x --wait")).toMatchObject({ afterwards: "wait" })
  expect(work("send s t --message x")).toMatchObject({ sessionId: "s", turnId: "t", message: text })
  expect(work("wait s t --timeout 5m")).toEqual({
    verb: "wait",
    sessionId: "s",
    turnId: "t",
    timeoutMs: 300_000,
  })
  expect(work("wait s t")).toMatchObject({ timeoutMs: undefined })
  expect(work("follow s --after c")).toEqual({ verb: "follow", sessionId: "s", after: "c" })
  expect(work("interrupt s --turn t")).toEqual({ verb: "interrupt", sessionId: "s", turnId: "t", ...keyed })
  expect(work("resume s h")).toEqual({ verb: "resume", sessionId: "s", holdId: "h", ...keyed })
  expect(work("cancel s")).toEqual({ verb: "cancel", sessionId: "s", ...keyed })
  expect(work("answer s q --text x")).toMatchObject({ questionId: "q", text })
  expect(work("computers")).toEqual({ verb: "computers", limit: 50, status: undefined })
  expect(work("computers create box --key k")).toEqual({
    verb: "computers create",
    template: "box",
    key: "k",
    ...keyed,
  })
  expect(work("computers delete c")).toEqual({ verb: "computers delete", computerId: "c", ...keyed })
  expect(read("sessions --url http://h --key-file k --json")).toMatchObject({
    value: { url: "http://h", keyFile: "/here/k", json: true },
  })
})

test("keys are listed, made and revoked", () => {
  expect(read("keys --state s")).toMatchObject({ value: { state: "/here/s", work: { verb: "list" } } })
  expect(read("keys list --state s --json")).toMatchObject({ value: { json: true } })
  expect(work("keys create --state s --name n --permission all --out f")).toEqual({
    verb: "create",
    name: "n",
    permissions: Permission.options,
    environment: EnvironmentKey.parse("default"),
    out: "/here/f",
  })
  const some =
    "keys create --state s --name n --permission sessions:read,sessions:write --permission computers:read"
  expect(work(some)).toMatchObject({ permissions: ["computers:read", "sessions:read", "sessions:write"] })
  const keyId = ApiKeyId.parse("key_00000000-0000-7000-8000-000000000001")
  expect(work(`keys revoke ${keyId} --state s`)).toEqual({ verb: "revoke", keyId })
})

test("each wrong argument is refused by name", () => {
  const expected: Readonly<Record<string, string>> = {
    "": "a verb of fleet is missing",
    fly: '"fly" is no verb of fleet',
    "computers fly": '"fly" is not expected',
    "computers create": "TEMPLATE is missing",
    deploy: "fleet deploy DIR: DIR is missing",
    "deploy a b": '"b" is not expected',
    "start a": "--input is needed",
    "start a --input x --wait --follow": "give --wait or --follow, not both",
    "start --input x": "AGENT is missing",
    "enqueue s": "--input is needed",
    "send s --message x": "TURN is missing",
    "resume s": "HOLD is missing",
    "wait s t --timeout soon": "--timeout must be a duration",
    "wait s t --timeout 0s": "--timeout must be longer than nothing",
    "sessions --status asleep": "--status must be open, closing, closed",
    "sessions --limit 0": "--limit must be a whole number from 1 to 10000",
    "sessions --limit 10001": "--limit must be a whole number from 1 to 10000",
    "sessions --fast": "Unknown option '--fast'",
    "sessions --key hlm_secret": "Unknown option '--key'",
    "keys fly --state s": '"fly" is no verb of fleet keys',
    keys: "fleet keys needs --state",
    "keys create --state s --permission all": "keys create needs --name",
    "keys create --state s --name n": "keys create needs --permission",
    "keys create --state s --name n --permission fly": '"fly" is none',
    "keys create --state s --name n --permission all --environment A": "--environment must be",
    "keys revoke --state s": "keys revoke needs KEY",
    "keys revoke hlm_secret --state s": "KEY must be a ApiKeyId",
    "keys list more --state s": '"more" is not expected',
  }
  expect(refusal("keys revoke hlm_secret --state s")).not.toContain("hlm_secret")
  for (const [line, message] of Object.entries(expected))
    expect({ line, said: refusal(line) }).toEqual({ line, said: expect.stringContaining(message) })
})

test("help names every verb and every flag of it, and docs/fleet.md every verb", async () => {
  const docs = await Bun.file(new URL("../../../docs/fleet.md", import.meta.url)).text()
  expect(read("--help")).toMatchObject({ value: { verb: "fleet help" } })
  expect(read("start a --help")).toMatchObject({ value: { verb: "fleet help" } })
  for (const [name, { words, flags }] of Object.entries(fleetVerbs)) {
    expect(fleetHelp).toContain([name, ...words].join(" "))
    expect(docs).toContain(`\`${[name, ...words].join(" ")}`)
    for (const flag of Object.keys(flags)) expect(fleetHelp).toContain(`--${flag}`)
  }
})
