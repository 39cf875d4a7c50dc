/** `@helmr/sdk` as others install it. */
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test"
import { cp, readdir } from "node:fs/promises"
import { dirname, join } from "node:path"
import { operatorClient } from "@computerd/control-plane/http/client"
import * as workspace from "@helmr/sdk"
import { createRig } from "../control-plane/drivers/rig.ts"
import { type Consumer, createConsumer, repository, run } from "./consumer.ts"

setDefaultTimeout(120_000)

let consumer: Consumer
beforeAll(async () => {
  consumer = await createConsumer()
})
afterAll(() => consumer.close())

const packed = async (): Promise<ReadonlyMap<string, string>> => {
  const entries = await readdir(consumer.installed, { recursive: true, withFileTypes: true })
  const files = entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name))
  const texts = await Promise.all(files.map((path) => Bun.file(path).text()))
  return new Map(files.map((path, index) => [path.slice(consumer.installed.length + 1), texts[index]!]))
}

/** Names of `sdk/index.ts`, types included. */
const exportedNames = async (): Promise<readonly string[]> => {
  const text = await Bun.file(join(repository, "sdk/index.ts")).text()
  const lists = [...text.matchAll(/export (?:type )?\{([^}]+)\}/g)].map(([, list]) => list!)
  return lists
    .flatMap((list) => list.split(",").map((name) => name.replace(/\btype\b/, "").trim()))
    .filter(Boolean)
}

describe("what is in it", () => {
  test("the manifest is for outsiders: not private, exact versions, every file that it names", async () => {
    const manifest = await Bun.file(join(consumer.installed, "package.json")).json()
    const protocol = await Bun.file(join(repository, "protocol/package.json")).json()
    expect(manifest).toMatchObject({ name: "@helmr/sdk", license: "Apache-2.0", type: "module" })
    expect(manifest).toMatchObject({ sideEffects: false, engines: { node: ">=20.3" } })
    expect(manifest.private).toBeUndefined()
    expect(Object.keys(manifest.dependencies)).toEqual(["ignore", "tar", "zod"])
    for (const version of Object.values(manifest.dependencies)) expect(version).toMatch(/^\d+\.\d+\.\d+$/)
    expect(manifest.dependencies.zod).toBe(protocol.dependencies.zod)
    const files = await packed()
    for (const path of [...Object.values(manifest.exports["."]), "README.md", "LICENSE"])
      expect(files.has(String(path).replace("./", ""))).toBe(true)
  })

  test("modules import each other, Node and the declared dependencies, and declarations import nothing", async () => {
    const imported = new Set<string>()
    for (const [path, text] of await packed()) {
      const found = [...text.matchAll(/^(?:import|export)\b[^;]*?["']([^"'\s]+)["'];$/gm)].map(
        ([, name]) => name!,
      )
      if (path.endsWith(".d.ts")) expect(found).toEqual([])
      for (const name of found) imported.add(name.startsWith(".") ? "." : name.replace(/^node:.*/, "node:"))
    }
    expect([...imported].toSorted()).toEqual([".", "ignore", "node:", "tar", "zod"])
  })

  test("nothing tells where it was made, and nothing of the workspace is left", async () => {
    for (const [path, text] of await packed())
      for (const foreign of [
        repository,
        dirname(consumer.tarball),
        "workspace:",
        "@computerd/",
        "node_modules/.",
      ])
        expect([path, foreign, text.includes(foreign)]).toEqual([path, foreign, false])
  })
})

describe("the compiler", () => {
  const compile = async (options: readonly string[]): Promise<string> => {
    const names = await exportedNames()
    expect(names.length).toBeGreaterThan(80)
    await consumer.write("names.ts", `export type { ${names.join(", ")} } from "@helmr/sdk"\n`)
    const common = [
      "--ignoreConfig",
      "--noEmit",
      "--strict",
      "--exactOptionalPropertyTypes",
      "--target",
      "es2023",
    ]
    const tsc = join(repository, "node_modules/typescript/bin/tsc")
    const ran = await run(["node", tsc, ...common, ...options, "types.ts", "names.ts"], {
      cwd: consumer.directory,
    })
    return ran.stdout
  }
  const withNode = ["--lib", "es2023", "--types", "node", "--skipLibCheck", "false"]
  // The compiler takes in no types that it is not told of.
  const withDom = ["--lib", "es2023,dom,dom.asynciterable", "--skipLibCheck", "false"]

  test("takes every name as Node resolves it, with the types of Node", async () => {
    expect(await compile(["--module", "node16", ...withNode])).toBe("")
  })

  test("takes every name as a bundler resolves it, with the library dom instead", async () => {
    expect(await compile(["--module", "preserve", "--moduleResolution", "bundler", ...withDom])).toBe("")
  })
})

describe("at run time", () => {
  test("Node gets every value that the workspace exports", async () => {
    const print = 'import("@helmr/sdk").then((sdk) => console.log(Object.keys(sdk).join()))'
    const { stdout, stderr } = await run(["node", "-e", print], { cwd: consumer.directory })
    expect(stderr).toBe("")
    expect(stdout.trim().split(",").toSorted()).toEqual(Object.keys(workspace).toSorted())
  })

  test("Node hears of options that cannot be right", async () => {
    const { stdout } = await run(["node", "options.js"], { cwd: consumer.directory })
    expect(JSON.parse(stdout)).toEqual(
      ["baseUrl", "baseUrl", "apiKey", "timeoutMs"].map((field) => [true, "invalid_arguments", field]),
    )
  })

  test("the same script publishes, starts, follows and finishes a Session in Node and in Bun", async () => {
    const rig = await createRig()
    try {
      const plane = await rig.open({
        api: { listen: { hostname: "127.0.0.1", port: 0, behindProxy: false } },
      })
      const made = await operatorClient(rig.stateDirectory).createKey({
        name: "outside",
        permissions: ["deployments:write", "deployments:read", "sessions:write", "sessions:read"],
      })
      if (!made.ok) throw new Error(made.error.message)
      const env = {
        PATH: process.env["PATH"]!,
        HELMR_URL: plane.apiUrl!,
        HELMR_API_KEY: made.value.secret,
      }
      await cp(join(repository, "examples/from-outside"), join(consumer.directory, "example"), {
        recursive: true,
        filter: (path) => !path.endsWith("node_modules"),
      })
      for (const command of ["node", process.execPath]) {
        const ran = await run([command, "example/run.mjs"], { cwd: consumer.directory, env })
        expect(ran).toMatchObject({ exitCode: 0, stderr: "" })
        const lines = ran.stdout.trim().split("\n")
        expect(lines[0]).toMatch(/^# published dep_/)
        expect(lines).toContain("# session_created")
        expect(lines).toContain("6  to be or not to be")
        expect(lines.slice(-3)).toEqual(["# session_closed", "2 lines, 10 words", "1 lines, 3 words"])
      }
    } finally {
      await rig.close()
    }
  })
})

describe("in a bundled program", () => {
  const bundle = async (name: string, text: string): Promise<string> => {
    const entry = await consumer.write(name, text)
    const built = await Bun.build({ entrypoints: [entry], target: "bun", minify: true })
    return built.outputs[0]!.text()
  }
  const program = `
    import { agent, HelmrError, image, template } from "@helmr/sdk"
    const box = template({ id: "box", image: image("box"), resources: { cpu: 1, memory: "1GiB" } })
    export const quiet = agent({
      id: "quiet",
      template: box,
      turn: () => { throw new HelmrError({ code: "cancelled", message: "no" }) },
    })`

  test("an Agent holds about 1 KB of it, and nothing of the client", async () => {
    const text = await bundle("program.ts", program)
    expect(text.length).toBeLessThan(1_200)
    for (const part of ["/v1/", "Bearer", "HelmrApiError"]) expect(text).not.toContain(part)
  })

  test("a program that uses the client holds it", async () => {
    const text = await bundle("with-client.ts", `${program}\nexport { HelmrClient } from "@helmr/sdk"`)
    for (const part of ["/v1/", "Bearer", "HelmrApiError"]) expect(text).toContain(part)
  })
})
