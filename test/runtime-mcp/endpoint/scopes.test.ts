import { afterEach, describe, expect, test } from "bun:test"
import { mkdtemp, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import { type NormalRule, RuleOperation, type Scope } from "@computerd/protocol/scope"
import { ToolName } from "@computerd/protocol/tools"
import { normalize, nothing, unrestricted } from "@computerd/runtime-mcp/policy/scope"
import { servedTools } from "@computerd/runtime-mcp/tools/catalogue"
import type { Role } from "@computerd/runtime-mcp/tools/exposure"
import { type Listener, openListener, token } from "./listener.ts"

let listener: Listener | undefined
afterEach(async () => {
  await listener?.endpoint.close("exited")
})

const rpc = async (method: string, params: object): Promise<Readonly<Record<string, unknown>>> => {
  const response = await fetch(listener?.endpoint.url ?? "", {
    method: "POST",
    headers: { Authorization: token, "Content-Type": "application/json" },
    body: JSON.stringify({ jsonrpc: "2.0", id: 1, method, params }),
  })
  return JSON.parse(await response.text()).result
}

/** All that a client shows a model of its tools. */
const listText = async (): Promise<string> => JSON.stringify((await rpc("tools/list", {}))["tools"])

const listed = async (): Promise<readonly string[]> => {
  const { tools } = (await rpc("tools/list", {})) as { readonly tools: readonly { readonly name: string }[] }
  return tools.map(({ name }) => name)
}

const call = async (
  name: string,
  args: object,
): Promise<{ readonly text: string; readonly isError?: boolean }> => {
  const result = await rpc("tools/call", { name, arguments: args })
  const { content, isError } = result as {
    readonly content: readonly { readonly text: string }[]
    readonly isError?: boolean
  }
  return { text: content[0]?.text ?? "", ...(isError === undefined ? {} : { isError }) }
}

const skill = async (): Promise<string> =>
  JSON.parse((await call("skills", { name: "helmr-runtime" })).text).content

const open = (scope: Scope, role: Role = "root"): Listener => {
  listener = openListener(undefined, { scopes: { [token]: scope }, role })
  return listener
}

const ruleFor = (operation: RuleOperation): NormalRule => {
  if (operation === "list_computers") return { operation }
  if (operation === "spawn" || operation === "start")
    return { operation, agents: ["auditor"], computer: "new" }
  return { operation, agents: ["auditor"] }
}

/** Tools written as code; `start` and `skills` are also English words. */
const namedTools = (text: string): readonly string[] =>
  ToolName.options.filter((name) => text.includes(`\`${name}\``))

describe("one atom alone", () => {
  for (const operation of RuleOperation.options) {
    test(`R53 R54 R91 ${operation}: tools/list and the skill name what it opens, and no other tool or Agent`, async () => {
      open(normalize([ruleFor(operation)]))
      const shown = await listed()
      const text = await skill()
      expect(shown[0]).toBe("skills")
      for (const name of namedTools(text)) expect(shown).toContain(name)
      for (const name of shown.slice(1)) expect(text).toContain(`\`${name}\``)
      expect(text).not.toContain("reviewer")
    })
  }
})

/** As a word: `inspect_turn` is no `turn`, and a value of an enumeration is an argument, not a tool. */
const named = (text: string): readonly string[] =>
  ToolName.options.filter((name) => new RegExp(`(?<![\\w"])${name}(?![\\w"])`).test(text))

describe("what tools/list says", () => {
  for (const operation of RuleOperation.options)
    for (const role of ["root", "child"] as const)
      test(`R54 ${operation} alone, as a ${role}: no title, description or argument names another tool`, async () => {
        open(normalize([ruleFor(operation)]), role)
        const shown = await listed()
        for (const name of named(await listText())) expect(shown).toContain(name)
      })
})

test("R58 a child with an empty maximum lists skills alone and reads it", async () => {
  open(nothing, "child")
  expect(await listed()).toEqual(["skills"])
  expect(await skill()).toContain("Nothing beyond reading this guide")
})

test("R90 an unrestricted connection reads of every tool that is served", async () => {
  open(unrestricted)
  const text = await skill()
  for (const name of servedTools.filter((each) => each !== "skills")) expect(text).toContain(`\`${name}\``)
})

test("a child is shown no tool that creates, and a call still reaches the receiver, which says why", async () => {
  const { calls } = open(unrestricted, "child")
  for (const name of ["spawn", "start", "list_agents"]) expect(await listed()).not.toContain(name)
  await call("list_agents", { operation: "spawn" })
  expect(calls.map(({ tool }) => tool)).toEqual(["list_agents"])
})

test("R88 R89 skills, tools/list and initialize ask nothing of the receiver and need no key", async () => {
  const { calls } = open(unrestricted)
  await call("skills", {})
  await skill()
  await listed()
  await rpc("initialize", {
    protocolVersion: "2025-11-25",
    capabilities: {},
    clientInfo: { name: "t", version: "1" },
  })
  expect(calls).toEqual([])
})

test("two descriptors of one listener each see their own scope", async () => {
  const scopes = { [token]: nothing, "Bearer wide": unrestricted }
  listener = openListener(undefined, { scopes })
  expect(await listed()).toEqual(["skills"])
  const wide = await fetch(listener.endpoint.url, {
    method: "POST",
    headers: { Authorization: "Bearer wide", "Content-Type": "application/json" },
    body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/list" }),
  })
  expect(JSON.parse(await wide.text()).result.tools.length).toBe(servedTools.length)
  expect(await listed()).toEqual(["skills"])
})

test("R52 the skill is inside the code: bundled to one file it renders in an empty folder", async () => {
  const folder = await mkdtemp(join(tmpdir(), "skill-"))
  try {
    const entry = Bun.fileURLToPath(import.meta.resolve("@computerd/skill/render"))
    const built = await Bun.build({ entrypoints: [entry], outdir: folder, target: "bun", naming: "skill.js" })
    const program = `const { renderSkill } = await import("./skill.js"); process.stdout.write(renderSkill({ role: "root", tools: ["spawn"], targets: new Map(), creations: [] }))`
    const child = Bun.spawn([process.execPath, "-e", program], {
      cwd: folder,
      stdout: "pipe",
      env: { PATH: dirname(process.execPath), HOME: folder },
    })
    expect(built.outputs).toHaveLength(1)
    expect(await new Response(child.stdout).text()).toStartWith("---\nname: helmr-runtime\n")
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
})
