import { afterEach, expect, test } from "bun:test"
import { rm, stat } from "node:fs/promises"
import { join } from "node:path"
import { ProgramDescription } from "@computerd/protocol/program"
import { bundle, repository, temporary, within } from "./process.ts"

const directories: string[] = []
afterEach(async () => {
  await Promise.all(directories.splice(0).map((one) => rm(one, { recursive: true, force: true })))
})

const run = async (source: string) => {
  const directory = await temporary()
  directories.push(directory)
  const file = join(directory, "description.json")
  const child = Bun.spawn(
    [process.execPath, join(repository, "session-host/describe.ts"), await bundle(directory, source), file],
    { cwd: directory, stdin: "ignore", stdout: "pipe", stderr: "pipe" },
  )
  const code = await within(child.exited, "the description")
  return { code, file, child }
}

const describe = async (source: string): Promise<ProgramDescription> => {
  const { file } = await run(source)
  return ProgramDescription.parse(await Bun.file(file).json())
}

const sdk = `import { agent, image, source, template } from "@helmr/sdk"\n`

test("a program is described: agents in a stable order, each Template object once, functions as flags", async () => {
  const description = await describe(`${sdk}
    const hidden = template({ id: "hidden", image: image("h"), resources: { cpu: 1, memory: 1024 }, prepare() {} })
    export const shared = template({
      id: "shared",
      image: image("base").from("debian:12").copy(source.directory(".", { exclude: ["*.log"] }), "/w").workdir("/w"),
      resources: { cpu: 2, memory: "4GiB" },
      network: { allowDomains: ["a.example"] },
      secrets: [],
      deleteAfterUnused: "1h",
    })
    export const zebra = agent({ id: "zebra", template: hidden, closeAfterIdle: null, turn() {} })
    export const ant = agent({ id: "ant", template: shared, runtimeMcp: { allow: [] }, closeAfterIdle: "10m", init: () => 1, turn() {} })
    export const unrelated = { id: "not an agent", turn() {} }
    export { ant as alias }
    export default zebra
  `)
  expect(description).toEqual({
    ok: true,
    agents: [
      {
        exportName: "alias",
        id: "ant",
        template: 0,
        runtimeMcp: { allow: [] },
        closeAfterIdle: "10m",
        hasInit: true,
        hasTurn: true,
        unknownFields: [],
      },
      {
        exportName: "zebra",
        id: "zebra",
        template: 1,
        closeAfterIdle: null,
        hasInit: false,
        hasTurn: true,
        unknownFields: [],
      },
    ],
    templates: [
      {
        exportName: "shared",
        id: "shared",
        image: {
          name: "base",
          steps: [
            { kind: "from", reference: "debian:12" },
            {
              kind: "copy",
              source: { kind: "directory", path: ".", gitignore: true, exclude: ["*.log"] },
              destination: "/w",
            },
            { kind: "workdir", path: "/w" },
          ],
        },
        resources: { cpu: 2, memory: "4GiB" },
        network: { allowDomains: ["a.example"] },
        secrets: [],
        hasPrepare: false,
        deleteAfterUnused: "1h",
        unknownFields: [],
      },
      {
        exportName: null,
        id: "hidden",
        image: { name: "h", steps: [] },
        resources: { cpu: 1, memory: 1024 },
        hasPrepare: true,
        unknownFields: [],
      },
    ],
  })
})

test("two Templates with one id are two, and one that is not a Template is none", async () => {
  const description = await describe(`${sdk}
    const make = () => template({ id: "same", image: image("x"), resources: { cpu: 1, memory: 1 } })
    export const a = agent({ id: "one", template: make(), turn() {} })
    export const b = agent({ id: "one", template: make(), turn() {} })
    export const c = agent({ id: "two", template: { id: "plain" } as never, turn() {} })
  `)
  if (!description.ok) throw new Error(description.message)
  expect(description.templates.map(({ id, exportName }) => [id, exportName])).toEqual([
    ["same", null],
    ["same", null],
  ])
  expect(description.agents.map(({ id, template }) => [id, template])).toEqual([
    ["one", 0],
    ["one", 1],
    ["two", null],
  ])
})

test("what JSON cannot hold is marked, and unknown fields are named", async () => {
  const description = await describe(`${sdk}
    const loop: Record<string, unknown> = {}
    loop.loop = loop
    export const t = template({ id: 5n, image: "debian", resources: { cpu: Number.NaN }, network: loop, color: "red" } as never)
    export const a = agent({ template: t, closeAfterIdle: () => 1, runtimeMcp: { allow: [undefined] }, turn: 7, mood: "good" } as never)
  `)
  expect(description).toEqual({
    ok: true,
    agents: [
      {
        exportName: "a",
        id: null,
        template: 0,
        closeAfterIdle: { unsupported: "function" },
        runtimeMcp: { allow: [{ unsupported: "undefined" }] },
        hasInit: false,
        hasTurn: false,
        unknownFields: ["mood"],
      },
    ],
    templates: [
      {
        exportName: "t",
        id: { unsupported: "bigint" },
        image: null,
        resources: { cpu: { unsupported: "NaN" } },
        network: { loop: { unsupported: "a cycle" } },
        hasPrepare: false,
        unknownFields: ["color"],
      },
    ],
  })
})

test("a copy from anything but source.directory has no path, for publication to refuse", async () => {
  const description = await describe(`${sdk}
    export const t = template({ id: "t", image: image("x").copy("./src" as never, "/w"), resources: { cpu: 1, memory: 1 } })
  `)
  if (!description.ok) throw new Error(description.message)
  expect(description.templates[0]?.image?.steps).toEqual([
    {
      kind: "copy",
      source: { kind: "directory", path: null, gitignore: true, exclude: [] },
      destination: "/w",
    },
  ])
})

test("a program without agents is described as that", async () => {
  expect(await describe("export const nothing = 1")).toEqual({ ok: true, agents: [], templates: [] })
})

test("a top level that throws is told with its message", async () => {
  expect(await describe(`throw new Error("NO_TOKEN is not set")`)).toEqual({
    ok: false,
    message: "The program could not be loaded: NO_TOKEN is not set",
  })
})

test.each([
  ["exits", "process.exit(0)"],
  ["exits with an error", "process.exit(9)"],
])("a program that %s while it loads is told as not loaded", async (_name, source) => {
  expect(await describe(`${sdk}\n${source}`)).toEqual({
    ok: false,
    message: "The program ended its process while it was loading.",
  })
})

test("timers and sockets of the program keep nobody waiting, and its output stays apart", async () => {
  const { code, file, child } = await run(`
    setInterval(() => {}, 1_000)
    Bun.serve({ port: 0, fetch: () => new Response("") })
    console.log("hello")
  `)
  expect(code).toBe(0)
  expect(await Bun.file(file).json()).toEqual({ ok: true, agents: [], templates: [] })
  expect(await new Response(child.stdout).text()).toBe("hello\n")
  expect((await stat(file)).mode & 0o777).toBe(0o600)
})

test("without its two arguments describe says how it is used", async () => {
  const child = Bun.spawn([process.execPath, join(repository, "session-host/describe.ts")], {
    stderr: "pipe",
  })
  expect(await within(child.exited, "exit")).toBe(2)
  expect(await new Response(child.stderr).text()).toStartWith("usage: ")
})
