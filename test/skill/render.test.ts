import { describe, expect, test } from "bun:test"
import { ToolName } from "@computerd/protocol/tools"
import { mutating } from "@computerd/skill/errors"
import { renderSkill, serverInstructions, skillDescription } from "@computerd/skill/render"
import fc from "fast-check"

const render = (tools: readonly ToolName[], role: "root" | "child" = "root"): string =>
  renderSkill({
    role,
    tools,
    targets: new Map(tools.map((name) => [name, ["auditor"]])),
    creations: [{ operation: "spawn", computer: "new", agents: ["auditor"] }],
  })

/** Tool names as words, so that `inspect_turn` is not found in a longer one. */
const named = (text: string): readonly ToolName[] =>
  ToolName.options.filter((name) => new RegExp(`(?<![\\w-])${name}(?![\\w-])`).test(text) && !prose.has(name))

/** Names that are also English words: they count only where they are written as code. */
const prose = new Set<ToolName>(["skills", "start", "spawn", "enqueue"])
const asCode = (text: string): readonly ToolName[] =>
  ToolName.options.filter((name) => text.includes(`\`${name}\``) || text.includes(`${name}(`))

describe("the skill document", () => {
  test("R87 begins with front matter of the Agent Skills convention", () => {
    const [, front = "", body = ""] = render([...ToolName.options]).split(/^---$/m)
    expect(
      front
        .trim()
        .split("\n")
        .map((line) => line.split(":")[0]),
    ).toEqual(["name", "description"])
    expect(front).toContain("name: helmr-runtime\n")
    expect(skillDescription.length).toBeLessThanOrEqual(1024)
    expect(body.trim().startsWith("# ")).toBe(true)
  })

  test("R55 says that it grants nothing and that the user's instructions stand", () => {
    for (const tools of [[], [...ToolName.options]] as const) {
      expect(render(tools)).toContain("This guide grants nothing.")
      expect(render(tools)).toContain("does not replace the instructions of the user")
    }
  })

  test("R48 R90 with everything granted it explains delegating, observing and controlling", () => {
    const text = render([...ToolName.options])
    for (const heading of [
      "Delegate work",
      "Add to existing work",
      "Wait and read outcomes",
      "Find and inspect Sessions",
      "See Computers",
      "Control Sessions",
      "Keys and retries",
      "Errors",
    ])
      expect(text).toContain(`\n## ${heading}\n`)
    for (const name of ToolName.options.filter((each) => each !== "skills"))
      expect(text).toContain(`\`${name}\``)
    expect(text).toContain("does not prove that anything has stopped")
  })

  for (const name of ToolName.options) {
    test(`R53 R91 a connection that has ${name} alone reads of no other tool`, () => {
      const text = render(["skills", name])
      for (const other of [...named(text), ...asCode(text)]) expect(["skills", name]).toContain(other)
      if (name !== "skills") expect(text).toContain(`\`${name}\``)
    })
  }

  test("R53 R91 whatever is granted, nothing else is named", () => {
    fc.assert(
      fc.property(fc.subarray([...ToolName.options]), fc.constantFrom("root", "child"), (tools, role) => {
        const text = render(tools, role)
        for (const other of [...named(text), ...asCode(text)]) expect(["skills", ...tools]).toContain(other)
      }),
    )
  })

  test("R91 only Agents that can be targeted are named, and long lists are cut", () => {
    const many = Array.from({ length: 30 }, (_, index) => `agent-${index}`)
    const text = renderSkill({
      role: "root",
      tools: ["skills", "spawn", "enqueue"],
      targets: new Map([["spawn", many] as const, ["enqueue", ["auditor"]] as const]),
      creations: [{ operation: "spawn", computer: "new", agents: many }],
    })
    expect(text).toContain("- `enqueue`: auditor\n")
    expect(text).toContain("agent-19 and 10 more")
    expect(text).not.toContain("agent-20")
  })

  test("keys are explained exactly where a granted tool takes one", () => {
    for (const name of ToolName.options)
      expect(render([name]).includes("idempotencyKey")).toBe(mutating.includes(name))
  })

  test("a child learns its place, a root does not", () => {
    expect(render(["skills"], "child")).toContain("\n## Your place\n")
    expect(render(["skills"], "root")).not.toContain("Your place")
  })

  test("placement is described as it is granted", () => {
    const creation = (placements: readonly ("new" | "caller")[]) =>
      renderSkill({
        role: "root",
        tools: ["spawn"],
        targets: new Map([["spawn", ["auditor"]]]),
        creations: placements.map((computer) => ({ operation: "spawn", computer, agents: ["auditor"] })),
      })
    expect(creation(["new"])).toContain("Leave `computerId` out")
    expect(creation(["new"])).not.toContain("this Session's own Computer id")
    expect(creation(["caller"])).not.toContain("Leave `computerId` out")
    expect(creation(["new", "caller"])).toContain("this Session's own Computer id")
  })

  test("where places differ, each says what may be created there", () => {
    const text = renderSkill({
      role: "root",
      tools: ["spawn", "start"],
      targets: new Map<ToolName, readonly string[]>([
        ["spawn", ["auditor", "writer"]],
        ["start", ["writer"]],
      ]),
      creations: [
        { operation: "spawn", computer: "new", agents: ["auditor"] },
        { operation: "spawn", computer: "caller", agents: ["writer"] },
        { operation: "start", computer: "new", agents: ["writer"] },
      ],
    })
    expect(text).toContain("- `spawn` on a fresh Computer: auditor\n")
    expect(text).toContain("- `spawn` on this Session's Computer: writer\n")
    expect(text).toContain("- `start` on a fresh Computer: writer\n")
  })

  test("R47 the server's instructions lead to the skill and name no other tool", () => {
    expect(serverInstructions).toContain('skills({ "name": "helmr-runtime" })')
    expect(asCode(serverInstructions)).toEqual(["skills"])
  })
})
