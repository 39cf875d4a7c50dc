import { describe, expect, test } from "bun:test"
import { parseAgents } from "@computerd/control-plane/publication/definition/agents"
import { durationMaxMs, parseDuration } from "@computerd/control-plane/publication/definition/duration"
import {
  memoryMaxBytes,
  memoryMinBytes,
  parseMemory,
} from "@computerd/control-plane/publication/definition/size"
import { parseTemplates } from "@computerd/control-plane/publication/definition/templates"
import type { Result } from "@computerd/protocol/errors"
import { DefinitionKey } from "@computerd/protocol/ids"
import type { DescribedAgent, DescribedTemplate } from "@computerd/protocol/program"
import fc from "fast-check"

const agent = (changes: Partial<DescribedAgent> = {}): DescribedAgent => ({
  exportName: "worker",
  id: "worker",
  template: 0,
  hasInit: false,
  hasTurn: true,
  unknownFields: [],
  ...changes,
})

const template = (changes: Partial<DescribedTemplate> = {}): DescribedTemplate => ({
  exportName: null,
  id: "plain",
  image: { name: "plain", steps: [{ kind: "workdir", path: "/workspace" }] },
  resources: { cpu: 1, memory: "1GiB" },
  hasPrepare: false,
  unknownFields: [],
  ...changes,
})

const templates = [{ id: DefinitionKey.parse("plain") }]
const refusal = (result: Result<unknown>) => (result.ok ? undefined : result.error)

describe("Agents", () => {
  const cases: readonly [string, readonly DescribedAgent[], string, string][] = [
    ["no Agent at all", [], "agents", "export at least one"],
    [
      "two Agents with one id",
      [agent(), agent({ exportName: "second" })],
      "agents[worker].id",
      "exported as second",
    ],
    ["an id that is no string", [agent({ id: 7 })], "agents[worker].id", "string"],
    ["an id with a space", [agent({ id: "a b" })], "agents[a b].id", "letters, digits"],
    ["an empty id", [agent({ id: "" })], "agents[worker].id", "letters, digits"],
    [
      "a template that template() did not make",
      [agent({ template: null })],
      "agents[worker].template",
      "template()",
    ],
    ["a missing turn", [agent({ hasTurn: false })], "agents[worker].turn", "function"],
    [
      "a field that agent() does not know",
      [agent({ unknownFields: ["trun"] })],
      "agents[worker].trun",
      "agent()",
    ],
    [
      "an idle period in words",
      [agent({ closeAfterIdle: "ten minutes" })],
      "agents[worker].closeAfterIdle",
      '"10m"',
    ],
    ["a negative idle period", [agent({ closeAfterIdle: -1 })], "agents[worker].closeAfterIdle", "duration"],
    [
      "an idle period of years",
      [agent({ closeAfterIdle: "9000d" })],
      "agents[worker].closeAfterIdle",
      "366 days",
    ],
  ]
  for (const [what, agents, field, message] of cases)
    test(`${what} is refused at ${field}`, () => {
      const error = refusal(parseAgents(agents, templates))
      expect(error).toMatchObject({ code: "invalid_program", field })
      expect(error?.message).toContain(message)
      expect(error?.message).toStartWith(field)
    })

  test("R254 a malformed maximum names the rule and repeats no value", () => {
    const policy = { allow: [{ operation: "spawn", agents: ["worker", "s3cret-name"] }] }
    const error = refusal(parseAgents([agent({ runtimeMcp: policy })], templates))
    expect(error).toMatchObject({
      code: "invalid_runtime_mcp_policy",
      field: "agents[worker].runtimeMcp.allow[0].agents[1]",
    })
    expect(error?.message).not.toContain("s3cret-name")
  })

  test("R225 a maximum holds an allowlist and nothing else", () => {
    const policies = [{}, { blockAll: true }, { allow: [], blockAll: false }, { allow: "*" }, null, "all"]
    const errors = policies.map((runtimeMcp) => refusal(parseAgents([agent({ runtimeMcp })], templates)))
    expect(errors.map((error) => error?.code)).toEqual(policies.map(() => "invalid_runtime_mcp_policy"))
    expect(errors.map((error) => error?.field)).toEqual([
      "agents[worker].runtimeMcp.allow",
      "agents[worker].runtimeMcp.blockAll",
      "agents[worker].runtimeMcp.blockAll",
      "agents[worker].runtimeMcp.allow",
      "agents[worker].runtimeMcp",
      "agents[worker].runtimeMcp",
    ])
  })

  test("R227 an omitted maximum is written out as explicit rules over exactly these Agents", () => {
    const parsed = parseAgents([agent(), agent({ id: "other", exportName: "other" })], templates)
    if (!parsed.ok) throw new Error(parsed.error.message)
    const [other] = parsed.value
    if (other?.runtimeMcp.kind !== "finite") throw new Error("the maximum is not finite")
    const spawn = other.runtimeMcp.allow.find((rule) => rule.operation === "spawn")
    expect(spawn).toEqual({ operation: "spawn", agents: ["other", "worker"], computer: "new" })
    expect(other.runtimeMcp.allow.map((rule) => rule.operation)).toContain("list_computers")
  })

  test("an empty allowlist stays empty", () => {
    const parsed = parseAgents([agent({ runtimeMcp: { allow: [] } })], templates)
    expect(parsed.ok && parsed.value[0]?.runtimeMcp).toEqual({ kind: "finite", allow: [] })
  })

  test("an id that would break a line is shown on one", () => {
    const error = refusal(parseAgents([agent({ id: "a\nb\u001b[31m" })], templates))
    expect(error?.message).toMatch(/^[\x20-\x7e]+$/)
  })
})

describe("Templates", () => {
  const step = (destination: unknown, source: object = {}) => ({
    kind: "copy" as const,
    source: { kind: "directory" as const, path: ".", gitignore: true, exclude: [], ...source },
    destination,
  })
  const image = (...steps: NonNullable<DescribedTemplate["image"]>["steps"]) => ({
    image: { name: "plain", steps },
  })
  const cases: readonly [string, Partial<DescribedTemplate>, string][] = [
    ["an id with a slash", { id: "a/b" }, "templates[a/b].id"],
    ["no image", { image: null }, "templates[plain].image"],
    ["an image without a name", { image: { name: "", steps: [] } }, "templates[plain].image.name"],
    ["no resources", { resources: undefined }, "templates[plain].resources"],
    ["an unknown resource", { resources: { cpu: 1, memory: 1e9, gpu: 1 } }, "templates[plain].resources.gpu"],
    ["no cpu", { resources: { cpu: 0, memory: "1GiB" } }, "templates[plain].resources.cpu"],
    [
      "cpu that is not a number",
      { resources: { cpu: Number.NaN, memory: "1GiB" } },
      "templates[plain].resources.cpu",
    ],
    ["memory in words", { resources: { cpu: 1, memory: "lots" } }, "templates[plain].resources.memory"],
    ["a field that template() does not know", { unknownFields: ["imgae"] }, "templates[plain].imgae"],
    ["a prepare that is no function", { prepare: "npm ci" }, "templates[plain].prepare"],
    ["a bad period", { deleteAfterUnused: "soon" }, "templates[plain].deleteAfterUnused"],
    [
      "a base image with a space",
      image({ kind: "from", reference: "node 24" }),
      "templates[plain].image.steps[0].reference",
    ],
    ["a relative workdir", image({ kind: "workdir", path: "work" }), "templates[plain].image.steps[0].path"],
    [
      "a source that is no text",
      image(step("/x", { path: 7 })),
      "templates[plain].image.steps[0].source.path",
    ],
    [
      "an exclude that is no list",
      image(step("/x", { exclude: "*.log" })),
      "templates[plain].image.steps[0].source.exclude",
    ],
    ["a destination that leads out", image(step("../x")), "templates[plain].image.steps[0].destination"],
    ["a NUL in a path", image(step("/a\0b")), "templates[plain].image.steps[0].destination"],
  ]
  for (const [what, changes, field] of cases)
    test(`${what} is refused at ${field}`, () => {
      expect(refusal(parseTemplates([template(changes)], []))).toMatchObject({
        code: "invalid_program",
        field,
      })
    })

  test("two Templates with one id are refused", () => {
    expect(refusal(parseTemplates([template(), template()], []))?.field).toBe("templates[plain].id")
  })
})

describe("units", () => {
  test("durations are milliseconds or a number with a unit", () => {
    const read = (value: unknown) => {
      const parsed = parseDuration(value, "x")
      return parsed.ok ? parsed.value : undefined
    }
    expect(["250ms", "30s", "10m", "1.5h", "7d", 0, 1500].map(read)).toEqual([
      250, 30_000, 600_000, 5_400_000, 604_800_000, 0, 1500,
    ])
    expect([null, undefined].map(read)).toEqual([null, null])
    expect(
      ["", "m", "10 m", "1e3s", "-5s", 1.5, Number.NaN, Number.POSITIVE_INFINITY, {}, true].map(read),
    ).toEqual(Array.from({ length: 10 }))
  })

  test("a duration is always whole, bounded milliseconds, whatever was written", () => {
    fc.assert(
      fc.property(fc.oneof(fc.string(), fc.double(), fc.anything()), (value) => {
        const parsed = parseDuration(value, "x")
        if (!parsed.ok || parsed.value === null) return true
        return Number.isSafeInteger(parsed.value) && parsed.value >= 0 && parsed.value <= durationMaxMs
      }),
    )
  })

  test("sizes are bytes or a number with a binary unit, within bounds", () => {
    const read = (value: unknown) => {
      const parsed = parseMemory(value, "x")
      return parsed.ok ? parsed.value : undefined
    }
    expect(["1GiB", "512MiB", "1.5GiB", 2 ** 20].map(read)).toEqual([
      2 ** 30,
      2 ** 29,
      1.5 * 2 ** 30,
      2 ** 20,
    ])
    expect(["1GB", "1 GiB", "GiB", 0, 1, "1KiB", "65TiB", null, undefined].map(read)).toEqual(
      Array.from({ length: 9 }),
    )
    fc.assert(
      fc.property(fc.oneof(fc.double(), fc.nat(), fc.string()), (value) => {
        const bytes = read(value)
        return (
          bytes === undefined ||
          (Number.isSafeInteger(bytes) && bytes >= memoryMinBytes && bytes <= memoryMaxBytes)
        )
      }),
    )
  })
})
