import { afterAll, beforeAll, expect, test } from "bun:test"
import { lstat, mkdir, readdir, readlink } from "node:fs/promises"
import { join } from "node:path"
import { unpack } from "@computerd/supervisor/bundle/unpack"
import { createRig, program, type Rig, type Tree } from "./rig.ts"

let rig: Rig
beforeAll(async () => {
  rig = await createRig()
})
afterAll(() => rig.remove())

const package_ = (name: string, fields: object = {}): string =>
  JSON.stringify({ name, version: "1.0.0", main: "index.js", ...fields })

const declares = (...external: readonly string[]): string => JSON.stringify({ helmr: { external } })

const other = process.platform === "linux" ? "win32" : "linux"

/** `native` needs `helper` 1, the program's tree has `helper` 2 at the top, and binaries come for two platforms. */
const native: Tree = {
  "package.json": declares("native"),
  "index.ts": program({ head: 'import { answer } from "native"', tail: "export const value = answer()" }),
  "node_modules/native/package.json": package_("native", {
    dependencies: { helper: "^1.0.0", loop: "*" },
    optionalDependencies: { "@bin/this": "*", "@bin/other": "*", "@bin/absent": "*" },
  }),
  "node_modules/native/index.js":
    'exports.answer = () => [require("helper"), require("loop").name, require.resolve("@bin/this/run")]',
  "node_modules/native/node_modules/helper/package.json": package_("helper"),
  "node_modules/native/node_modules/helper/index.js": 'module.exports = "helper 1"',
  "node_modules/helper/package.json": package_("helper", { version: "2.0.0" }),
  "node_modules/helper/index.js": 'module.exports = "helper 2"',
  "node_modules/loop/package.json": package_("loop", { dependencies: { native: "*", helper: "^2.0.0" } }),
  "node_modules/loop/index.js": 'exports.name = "loop with " + require("helper")',
  "node_modules/@bin/this/package.json": package_("@bin/this", {
    os: [process.platform],
    cpu: [process.arch],
  }),
  "node_modules/@bin/this/run": { mode: 0o755, text: "#!/bin/sh\necho ran\n" },
  "node_modules/@bin/this/alias": { link: "run" },
  "node_modules/@bin/other/package.json": package_("@bin/other", { os: [other] }),
  "node_modules/@bin/other/run": { mode: 0o755, text: "for another platform" },
}

test("a declared package travels as files with everything it depends on, as it found it", async () => {
  const directory = await rig.program("native", native)
  const published = await rig.publish(directory)
  if (!published.ok) throw new Error(published.error.message)
  const folder = join(rig.root, "unpacked")
  await mkdir(folder)
  const archive = rig.content.bundleFile(published.value.manifest.bundle)
  expect(await unpack(archive, folder)).toMatchObject({ ok: true })

  expect((await readdir(join(folder, "node_modules"))).toSorted()).toEqual([
    "@bin",
    "helper",
    "loop",
    "native",
  ])
  expect(await readdir(join(folder, "node_modules/@bin"))).toEqual(["this"])
  expect((await lstat(join(folder, "node_modules/@bin/this/run"))).mode & 0o777).toBe(0o700)
  expect(await readlink(join(folder, "node_modules/@bin/this/alias"))).toBe("run")

  await Bun.write(join(folder, "run.js"), 'console.log(JSON.stringify((await import("./index.js")).value))')
  const run = Bun.spawnSync([process.execPath, "--no-install", join(folder, "run.js")], { env: {} })
  expect(JSON.parse(run.stdout.toString())).toEqual([
    "helper 1",
    "loop with helper 2",
    join(folder, "node_modules/@bin/this/run"),
  ])
})

test("the archive of the same program with packages has the same digest", async () => {
  const first = await rig.publish(await rig.program("first", native))
  const second = await rig.publish(await rig.program("second", native))
  expect(first.ok && first.value.manifest.bundle).toBe(second.ok && second.value.manifest.bundle)
})

test("a declared package that is not installed is refused by name", async () => {
  const directory = await rig.program("lacks", {
    "package.json": declares("absent-package"),
    "index.ts": program(),
  })
  const refused = await rig.publish(directory)
  expect(refused).toMatchObject({
    ok: false,
    error: { code: "invalid_program", field: "package.json.helmr.external" },
  })
  expect(refused.ok ? "" : refused.error.message).toContain("absent-package")
})

test("a dependency of a declared package that is not installed is refused by name", async () => {
  const directory = await rig.program("half", {
    "package.json": declares("half"),
    "index.ts": program(),
    "node_modules/half/package.json": package_("half", { dependencies: { "missing-half": "*" } }),
  })
  const refused = await rig.publish(directory)
  expect(refused.ok ? "" : refused.error.message).toContain("missing-half, which node_modules/half needs")
})

test("a package with a link to an absolute path cannot be carried, and says which", async () => {
  const directory = await rig.program("absolute", {
    "package.json": declares("linked"),
    "index.ts": program(),
    "node_modules/linked/package.json": package_("linked"),
    "node_modules/linked/passwd": { link: "/etc/passwd" },
  })
  const refused = await rig.publish(directory)
  expect(refused.ok ? "" : refused.error.message).toContain("linked/passwd is a link to an absolute path")
})
