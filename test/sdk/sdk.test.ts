import { expect, test } from "bun:test"
import { mkdtemp, rm } from "node:fs/promises"
import { join } from "node:path"
import { agent, HelmrError, image, source, template } from "@helmr/sdk"
import { definition } from "@helmr/sdk/definition"

const computer = template({ id: "c", image: image("c"), resources: { cpu: 1, memory: "1GiB" } })

test("an image is immutable: each call in the chain makes a new one", () => {
  const base = image("worker").from("debian:12")
  const one = base.copy(source.directory("a"), "/a")
  const two = base.copy(source.directory("b"), "/b").workdir("/b")
  expect(base.steps).toEqual([{ kind: "from", reference: "debian:12" }])
  expect(one.steps.map((step) => step.kind)).toEqual(["from", "copy"])
  expect(two.steps.map((step) => step.kind)).toEqual(["from", "copy", "workdir"])
  for (const value of [base, one, two, ...two.steps, two.steps]) expect(Object.isFrozen(value)).toBe(true)
})

test("source.directory respects .gitignore unless told otherwise", () => {
  expect(source.directory(".")).toMatchObject({ path: ".", gitignore: true, exclude: [] })
  expect(source.directory("/x", { gitignore: false, exclude: ["*.log"] })).toMatchObject({
    path: "/x",
    gitignore: false,
    exclude: ["*.log"],
  })
})

test("definitions are branded by a registered symbol and frozen", () => {
  const one = agent({ id: "a", template: computer, turn() {} })
  expect(Symbol.keyFor(definition)).toBe("helmr.definition")
  expect([one, computer, image("x"), source.directory(".")].map((value) => value[definition])).toEqual([
    "agent",
    "template",
    "image",
    "directory",
  ])
  expect(Object.isFrozen(one) && Object.isFrozen(computer)).toBe(true)
  expect(one.template).toBe(computer)
})

test("authoring judges nothing at run time", () => {
  const make = agent as unknown as (spec: unknown) => object
  const makeTemplate = template as unknown as (spec: unknown) => object
  for (const spec of [undefined, null, {}, { id: 5, surplus: true }, { template: "x", turn: 7 }]) {
    expect(make(spec)).toMatchObject({ ...(spec ?? {}) })
    expect(makeTemplate(spec)).toMatchObject({ ...(spec ?? {}) })
  }
  expect(() =>
    (source.directory as unknown as (...args: unknown[]) => unknown)(undefined, null),
  ).not.toThrow()
})

test("an error of ours is recognised from another copy of the sdk", async () => {
  const copy: { HelmrError: typeof HelmrError } = await import(
    `${join(import.meta.dir, "../../sdk/error.ts")}?copy`
  )
  expect(copy.HelmrError).not.toBe(HelmrError)
  const error = new copy.HelmrError({ code: "runtime_mcp_denied", message: "no", field: "allow" })
  expect(error instanceof HelmrError).toBe(true)
  expect(error).toMatchObject({
    name: "HelmrError",
    code: "runtime_mcp_denied",
    message: "no",
    field: "allow",
  })
  expect(new Error("no") instanceof HelmrError).toBe(false)
})

test("the sdk adds little to a program, and nothing of the client unless the program uses it", async () => {
  const directory = await mkdtemp(join(import.meta.dir, "program-"))
  try {
    const program = join(directory, "index.ts")
    const sizeOf = async (source: string): Promise<number> => {
      await Bun.write(program, source)
      const built = await Bun.build({ entrypoints: [program], target: "bun", minify: true })
      const text = await built.outputs[0]!.text()
      return text.length
    }
    const agents = 'import { agent, image, template, source, HelmrError } from "@helmr/sdk"\n'
    const used = "export const all = [agent, image, template, source, HelmrError]\n"
    expect(await sizeOf(agents + used)).toBeLessThan(4_096)
    const client = 'import { HelmrClient } from "@helmr/sdk"\nexport const one = HelmrClient\n'
    expect(await sizeOf(client)).toBeGreaterThan(50_000)
  } finally {
    await rm(directory, { recursive: true })
  }
})
