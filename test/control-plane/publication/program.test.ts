import { afterAll, beforeAll, describe, expect, test } from "bun:test"
import { mkdir, readdir, rename } from "node:fs/promises"
import { join } from "node:path"
import { DeploymentManifest } from "@computerd/protocol/manifest"
import { unpack } from "@computerd/supervisor/bundle/unpack"
import { createRig, program, type Rig, repository } from "./rig.ts"

let rig: Rig
beforeAll(async () => {
  rig = await createRig()
})
afterAll(() => rig.remove())

const refusal = async (directory: string, changes: Parameters<Rig["publish"]>[1] = {}) => {
  const published = await rig.publish(directory, changes)
  if (published.ok) throw new Error("the program was published")
  return published.error
}

const published = async (directory: string, changes: Parameters<Rig["publish"]>[1] = {}) => {
  const result = await rig.publish(directory, changes)
  if (!result.ok) throw new Error(`${result.error.code}: ${result.error.message}`)
  return result.value
}

/** Unpacks a published bundle as a supervisor does. */
const unpacked = async (digest: string, name: string) => {
  const folder = join(rig.root, name)
  await mkdir(folder)
  const result = await unpack(join(rig.stateDirectory, "bundles", `${digest}.tar`), folder)
  if (!result.ok) throw new Error(result.error.message)
  return folder
}

describe("where a program starts", () => {
  test("a missing directory is named", async () => {
    const error = await refusal(join(rig.root, "nowhere"))
    expect(error).toMatchObject({ code: "invalid_program" })
    expect(error.message).toContain(`${rig.root}/nowhere does not exist`)
  })

  test("a file in place of a directory is named", async () => {
    const directory = await rig.program("plain-file", { "index.ts": program() })
    expect((await refusal(join(directory, "index.ts"))).message).toContain("is not a directory")
  })

  test("a directory without an entry says how to name one", async () => {
    const error = await refusal(await rig.program("empty", {}))
    expect(error.message).toContain('"helmr": { "entry"')
  })

  test("package.json that is not JSON is named", async () => {
    const error = await refusal(await rig.program("not-json", { "package.json": "{", "index.ts": program() }))
    expect(error).toMatchObject({ code: "invalid_program", field: "package.json" })
  })

  test("a field under helmr that nobody knows is refused", async () => {
    const file = JSON.stringify({ helmr: { entyr: "a.ts" } })
    const error = await refusal(await rig.program("typo", { "package.json": file, "index.ts": program() }))
    expect(error.field).toBe("package.json.helmr.entyr")
  })

  test("helmr.entry wins over module, module over main, and a named file must exist", async () => {
    const broken = "export const nothing = 1"
    const files = { "a.ts": program(), "b.ts": broken, "index.ts": broken }
    const of = (value: object) => ({ ...files, "package.json": JSON.stringify(value) })
    await published(
      await rig.program("entry", of({ helmr: { entry: "a.ts" }, module: "b.ts", main: "b.ts" })),
    )
    await published(await rig.program("module", of({ module: "a.ts", main: "b.ts" })))
    await published(await rig.program("main", of({ main: "./a.ts" })))
    const error = await refusal(await rig.program("gone", of({ helmr: { entry: "c.ts" }, main: "a.ts" })))
    expect(error.field).toBe("package.json.helmr.entry")
  })
})

describe("bundling", () => {
  test("a program that does not compile names file, line and column", async () => {
    const directory = await rig.program("syntax", {
      "index.ts": 'import "./lib/broken.ts"\n',
      "lib/broken.ts": "export const a = 1\n\nconst b: number = ;\n",
    })
    expect(await refusal(directory)).toMatchObject({
      code: "bundle_failed",
      field: "lib/broken.ts",
      message: "lib/broken.ts:3:19: Unexpected ;",
    })
  })

  test("a package that is not installed is an error, and nothing is fetched for it", async () => {
    const directory = await rig.program("lacking", { "index.ts": `import "left-pad"\n${program()}` })
    const error = await refusal(directory)
    expect(error.code).toBe("bundle_failed")
    expect(error.message).toContain("left-pad")
    expect(await readdir(directory)).toEqual(["index.ts"])
  })

  test("the sdk, the MCP client and zod come from the fallback, subpaths too", async () => {
    const head = `
      import { Client } from "@modelcontextprotocol/sdk/client/index.js"
      import { z } from "zod/v4"
      const used = [Client.name, z.string().parse("x")]
    `
    const { manifest } = await published(
      await rig.program("fallback", { "index.ts": program({ head, tail: "export { used }" }) }),
    )
    expect(manifest.agents.map((agent) => agent.id)).toEqual(["a"])
  })

  test("a program's own copy of a fallback package wins", async () => {
    const directory = await rig.program("own-zod", {
      "index.ts": program({ head: 'import { mark } from "zod"', agent: "closeAfterIdle: mark," }),
      "node_modules/zod/package.json": JSON.stringify({
        name: "zod",
        version: "0.0.0",
        main: "index.js",
        type: "module",
      }),
      "node_modules/zod/index.js": "export const mark = 4321",
    })
    expect((await published(directory)).manifest.agents[0]?.closeAfterIdleMs).toBe(4321)
  })

  test("macros run in the bundling process with a clean environment", async () => {
    const directory = await rig.program("macro", {
      "index.ts": program({
        head: 'import { seen } from "./macro.ts" with { type: "macro" }\nexport const pid = seen()',
      }),
      "macro.ts":
        "export const seen = () => JSON.stringify([process.pid, Object.keys(process.env).toSorted()])",
    })
    const { manifest } = await published(directory)
    const bundle = await Bun.file(join(await unpacked(manifest.bundle, "macro-bundle"), "index.js")).text()
    const [, json] = /pid ?= ?[`'"](\[.*\])[`'"]/.exec(bundle) ?? []
    const [pid, names] = JSON.parse((json ?? "").replaceAll("\\", ""))
    expect(pid).not.toBe(process.pid)
    expect(names).not.toContain("NODE_ENV")
    expect(Object.keys(rig.deps.environment)).toEqual(expect.arrayContaining(names))
  })

  test("the same program gives the same digest wherever it lies, and a changed one another", async () => {
    const tree = {
      "index.ts": program({ head: 'import { n } from "./lib/n.ts"', tail: "export { n }" }),
      "lib/n.ts": "export const n = 1",
    }
    const here = await published(await rig.program("same/a", tree))
    const there = await published(await rig.program("same/deep/er/b", tree))
    expect(there.manifest).toEqual(here.manifest)
    const changed = await published(
      await rig.program("same/c", { ...tree, "lib/n.ts": "export const n = 2" }),
    )
    expect(changed.manifest.bundle).not.toBe(here.manifest.bundle)
  })

  test("an imported file is found beside the bundle, whatever the working directory is", async () => {
    const head = 'import note from "./data/note.txt" with { type: "file" }'
    const tail =
      "export const read = () => Bun.file(note).text()\nexport const boom = () => { throw new Error('boom') }"
    const index = program({ head, tail })
    const directory = await rig.program("asset", { "index.ts": index, "data/note.txt": "found" })
    const { manifest } = await published(directory)
    await rename(directory, `${directory}-gone`)
    const folder = await unpacked(manifest.bundle, "asset-bundle")
    const script =
      'const m = await import("./index.js"); console.log(await m.read()); try { m.boom() } catch (e) { console.log(e.stack) }'
    await Bun.write(join(folder, "run.js"), script)
    const { stdout } = Bun.spawnSync([process.execPath, join(folder, "run.js")], { cwd: "/" })
    const line = index.split("\n").findIndex((text) => text.includes("boom")) + 1
    expect(stdout.toString()).toStartWith("found\n")
    expect(stdout.toString()).toContain(`index.ts:${line}:`)
  })

  test("a bundle names no path of the machine that published it", async () => {
    const { manifest } = await published(await rig.program("nameless", { "index.ts": program() }))
    const folder = await unpacked(manifest.bundle, "nameless-bundle")
    for (const file of ["index.js", "index.js.map"])
      expect(await Bun.file(join(folder, file)).text()).not.toContain(repository)
  })

  test("a stack trace of a published program names the author's file and line", async () => {
    const tail = "\n\nexport const boom = () => {\n  throw new Error('boom')\n}"
    const directory = await rig.program("trace", { "index.ts": `${program()}${tail}` })
    const { manifest } = await published(directory)
    await rename(directory, `${directory}-gone`)
    const folder = await unpacked(manifest.bundle, "trace-bundle")
    const script =
      'const { boom } = await import("./index.js"); try { boom() } catch (error) { console.log(error.stack) }'
    await Bun.write(join(folder, "run.js"), script)
    const { stdout } = Bun.spawnSync([process.execPath, join(folder, "run.js")])
    const line = `${program()}${tail}`.split("\n").findIndex((text) => text.includes("throw")) + 1
    expect(stdout.toString()).toContain(`index.ts:${line}:`)
  })
})

describe("loading", () => {
  test("a program whose top level throws says what it threw", async () => {
    const error = await refusal(
      await rig.program("throws", { "index.ts": 'throw new Error("no key given")' }),
    )
    expect(error).toMatchObject({ code: "invalid_program" })
    expect(error.message).toContain("no key given")
  })

  test("a program that ends its process or never finishes loading is refused in time", async () => {
    const exits = await refusal(await rig.program("exits", { "index.ts": "process.exit(0)" }))
    expect(exits.code).toBe("invalid_program")
    const hangs = await rig.program("hangs", {
      "index.ts": "setInterval(() => {}, 1000)\nawait new Promise(() => {})",
    })
    const error = await refusal(hangs, { describeTimeoutMs: 400 })
    expect(error.message).toContain("more than 0.4 s")
  })

  test("what a program starts while it loads does not outlive its description", async () => {
    const directory = await rig.program("leaves", {
      "index.ts": program({
        head: 'export const child = Bun.spawn(["sleep", "301"]); await Bun.write(process.env.PID_FILE!, String(child.pid))',
      }),
    })
    const file = join(rig.root, "leaves.pid")
    await published(directory, { variables: { PID_FILE: file } })
    const pid = Number(await Bun.file(file).text())
    const state = await Bun.file(`/proc/${pid}/stat`)
      .text()
      .catch(() => "gone")
    expect(state === "gone" || / [ZX] /.test(state)).toBe(true)
  })

  test("variables reach the describing process, and the caller's environment does not", async () => {
    Object.assign(process.env, { A_SECRET_OF_THE_CALLER: "secret" })
    try {
      const head = 'if (process.env["A_SECRET_OF_THE_CALLER"] !== undefined) throw new Error("it leaked")'
      const directory = await rig.program("variables", {
        "index.ts": program({ head, agent: 'closeAfterIdle: process.env["IDLE"],' }),
      })
      const { manifest } = await published(directory, { variables: { IDLE: "90s" } })
      expect(manifest.agents[0]?.closeAfterIdleMs).toBe(90_000)
      expect(JSON.stringify(manifest)).not.toContain("IDLE")
    } finally {
      Reflect.deleteProperty(process.env, "A_SECRET_OF_THE_CALLER")
    }
  })

  test("a program that floods its output is described all the same", async () => {
    const head =
      'const line = "x".repeat(1 << 20)\nfor (let i = 0; i < 100; i += 1) process.stdout.write(line)'
    const { manifest } = await published(await rig.program("floods", { "index.ts": program({ head }) }))
    expect(manifest.agents).toHaveLength(1)
  })
})

describe("definitions through the whole of publication", () => {
  test("a program without Agents is refused", async () => {
    const error = await refusal(await rig.program("no-agents", { "index.ts": "export const x = 1" }))
    expect(error).toMatchObject({ code: "invalid_program", field: "agents" })
  })

  test("two Agents with one id are refused", async () => {
    const tail = 'export const b = agent({ id: "a", template: t, async turn() {} })'
    const error = await refusal(await rig.program("twice", { "index.ts": program({ tail }) }))
    expect(error).toMatchObject({ code: "invalid_program", field: "agents[a].id" })
  })

  test("an Agent with a Template that is an ordinary object is refused", async () => {
    const index =
      'import { agent } from "@helmr/sdk"\nexport const a = agent({ id: "a", template: { id: "t" } as never, async turn() {} })'
    const error = await refusal(await rig.program("foreign", { "index.ts": index }))
    expect(error.field).toBe("agents[a].template")
  })

  test("an unknown field of an Agent and an Agent without turn are refused by name", async () => {
    const unknown = await rig.program("unknown", {
      "index.ts": program({ agent: "closeAfteridle: 5 as never," }),
    })
    expect((await refusal(unknown)).field).toBe("agents[a].closeAfteridle")
    const index = `${program().split("export const a")[0]}export const a = agent({ id: "a", template: t } as never)`
    expect((await refusal(await rig.program("no-turn", { "index.ts": index }))).field).toBe("agents[a].turn")
  })

  test("R209 R216 R220 policies are pinned in normal form, and a change of them changes the preparation", async () => {
    const publish = async (name: string, hosts: string) => {
      const template = `
        network: { allowDomains: [${hosts}, { domain: "db.corp.example", ipRanges: ["10.60.12.0/24"] }] },
        async prepare(ctx) { await ctx.exec(["true"]) },`
      return rig.program(name, { "index.ts": program({ template }) })
    }
    const approved = { ceiling: [{ first: 10 * 2 ** 24, prefix: 8 }] }
    const first = await published(await publish("pinned", '"B.example.com.", "a.example.com"'), approved)
    const same = await published(await publish("pinned-again", '"B.example.com.", "a.example.com"'), approved)
    const other = await published(await publish("pinned-other", '"b.example.com"'), approved)
    const network = {
      allowDomains: [
        "a.example.com",
        "b.example.com",
        { domain: "db.corp.example", ipRanges: ["10.60.12.0/24"] },
      ],
    }
    expect(first.manifest.templates[0]).toMatchObject({
      network,
      prepareNetwork: network,
      secrets: [],
      hasPrepare: true,
      prepareSecrets: [],
    })
    expect(DeploymentManifest.parse(JSON.parse(JSON.stringify(first.manifest)))).toEqual(first.manifest)
    expect(same.manifest.templates).toEqual(first.manifest.templates)
    expect(other.manifest.templates[0]?.preparation).not.toBe(first.manifest.templates[0]?.preparation)
    expect(await refusal(await publish("unapproved", '"a.example.com"'))).toMatchObject({
      code: "invalid_program",
      field: "templates[t].network.allowDomains[1].ipRanges[0]",
    })
  })

  test("a prepare that is no function is refused by name", async () => {
    const template = 'prepare: "npm ci" as never,'
    const error = await refusal(await rig.program("no-prepare", { "index.ts": program({ template }) }))
    expect(error.field).toBe("templates[t].prepare")
  })

  test("a refused publication leaves nothing behind", async () => {
    const before = await readdir(join(rig.stateDirectory, "bundles"))
    await refusal(
      await rig.program("twice-again", { "index.ts": program({ agent: "closeAfterIdle: 'x' as never," }) }),
    )
    expect(await readdir(join(rig.stateDirectory, "bundles"))).toEqual(before)
    expect(await readdir(join(rig.stateDirectory, "staging"))).toEqual([])
  })
})
