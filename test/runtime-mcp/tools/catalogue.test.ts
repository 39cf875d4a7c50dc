import { describe, expect, test } from "bun:test"
import { type NormalRule, RuleOperation } from "@computerd/protocol/scope"
import { ToolName } from "@computerd/protocol/tools"
import { normalize, nothing, unrestricted } from "@computerd/runtime-mcp/policy/scope"
import { catalogue, findTool, servedTools, tools } from "@computerd/runtime-mcp/tools/catalogue"
import { exposedTools, toolGranted } from "@computerd/runtime-mcp/tools/exposure"
import { listedTool } from "@computerd/runtime-mcp/tools/listing"
import { AjvJsonSchemaValidator } from "@modelcontextprotocol/client/validators/ajv"

const ruleFor = (operation: RuleOperation): NormalRule => {
  if (operation === "list_computers") return { operation }
  if (operation === "spawn" || operation === "start") return { operation, agents: ["a"], computer: "new" }
  return { operation, agents: ["a"] }
}

/** Which tools each rule operation opens, as the reference says. */
const opens: Readonly<Record<RuleOperation, readonly ToolName[]>> = {
  spawn: ["list_agents", "spawn"],
  start: ["list_agents", "start"],
  enqueue: ["enqueue"],
  send_turn: ["send_turn"],
  interrupt_turn: ["interrupt_turn"],
  interrupt_session: ["interrupt_session"],
  resume_session: ["resume_session"],
  close_session: ["close_session"],
  cancel_session: ["cancel_session"],
  inspect_session: ["inspect_session", "list_sessions"],
  inspect_turn: ["inspect_turn", "wait_turn"],
  list_computers: ["list_computers"],
}

const names = (list: readonly { readonly name: string }[]) => list.map(({ name }) => name)

describe("the catalogue", () => {
  test("holds the sixteen tools once, in the order of their names", () => {
    expect(names(catalogue)).toEqual([...ToolName.options])
    expect(catalogue).toHaveLength(16)
    for (const name of ToolName.options) expect<string>(tools[name].name).toBe(name)
  })

  test("every tool has a title, a description and annotations that agree with what it does", () => {
    for (const tool of catalogue) {
      expect(tool.title.length).toBeGreaterThan(3)
      expect(tool.description.length).toBeGreaterThan(40)
      expect(tool.annotations.readOnlyHint).toBe(!tool.mutating)
      expect(tool.annotations.idempotentHint).toBe(true)
    }
    const destructive = catalogue.filter((tool) => tool.annotations.destructiveHint)
    expect(names(destructive)).toEqual([
      "interrupt_turn",
      "interrupt_session",
      "close_session",
      "cancel_session",
    ])
  })

  test("R85 nine tools change something, and exactly those take a key", () => {
    const mutating = catalogue.filter((tool) => tool.mutating)
    expect(mutating).toHaveLength(9)
    const keyed = catalogue.filter((tool) => JSON.stringify(listedTool(tool)).includes('"idempotencyKey":'))
    expect(names(keyed)).toEqual(names(mutating))
  })

  test("R59 R60 creating and listing Agents is for root Sessions", () => {
    expect(names(catalogue.filter((tool) => tool.rootOnly))).toEqual(["list_agents", "spawn", "start"])
  })

  test("a tool that is not served is unknown", () => {
    for (const name of ToolName.options) expect(findTool(name) !== undefined).toBe(servedTools.includes(name))
    for (const name of ["", "SPAWN", "spawn ", "__proto__", "constructor"])
      expect(findTool(name)).toBeUndefined()
  })
})

describe("schemas on the wire", () => {
  test("are JSON Schema objects that allow no further field and name what is required", () => {
    for (const tool of catalogue) {
      const schema = listedTool(tool).inputSchema
      expect(schema.type).toBe("object")
      expect(schema.additionalProperties).toBe(false)
      for (const property of Object.values(schema.properties ?? {}))
        expect(typeof property === "object" && typeof property.description).toBe("string")
    }
  })

  test("are 2020-12 schemas that agree with the check on what is required", () => {
    const validators = new AjvJsonSchemaValidator()
    for (const tool of catalogue) {
      const wire: unknown = {
        $schema: "https://json-schema.org/draft/2020-12/schema",
        ...listedTool(tool).inputSchema,
      }
      const validate = validators.getValidator<unknown>(wire as Parameters<typeof validators.getValidator>[0])
      expect(validate({}).valid).toBe(tool.input.safeParse({}).success)
      expect(validate({ unknown: 1 }).valid).toBe(false)
    }
  })

  test("are made once, however many scopes show the tool", () => {
    for (const tool of catalogue) expect(listedTool(tool)).toBe(listedTool(tool))
  })

  test("no outputSchema is published: clients would demand structured content", () => {
    for (const tool of catalogue)
      expect(Object.keys(listedTool(tool)).sort()).toEqual([
        "annotations",
        "description",
        "inputSchema",
        "name",
        "title",
      ])
  })
})

describe("what a scope shows", () => {
  for (const operation of RuleOperation.options) {
    test(`R54 R71 R70 R72 R74 R75 ${operation} alone opens its own tools and no other`, () => {
      const scope = normalize([ruleFor(operation)])
      const granted = catalogue.filter((tool) => toolGranted(scope, tool))
      expect<readonly string[]>(names(granted)).toEqual(["skills", ...opens[operation]])
      const shown = ["skills", ...opens[operation]].filter((name) => findTool(name) !== undefined)
      expect(names(exposedTools(scope, "root"))).toEqual(shown)
    })
  }

  test("R58 R228 an empty scope shows skills, to roots and to children", () => {
    expect(names(exposedTools(nothing, "root"))).toEqual(["skills"])
    expect(names(exposedTools(nothing, "child"))).toEqual(["skills"])
  })

  test("a child is not shown what only roots may do", () => {
    const shown = names(exposedTools(unrestricted, "child"))
    for (const name of ["list_agents", "spawn", "start"]) expect(shown).not.toContain(name)
    expect(shown).toContain("wait_turn")
  })
})
