import { afterEach, beforeEach, expect, test } from "bun:test"
import { chmod, lstat, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { cached } from "@computerd/computerd/programs/cache"
import { preparePrograms } from "@computerd/computerd/programs/programs"

let root: string
beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), "programs-"))
})
afterEach(() => rm(root, { recursive: true }))

/** Targets that were filled, each by taking or by building. */
const filling = (directory: string) => {
  let built = 0
  return {
    built: () => built,
    fill: async (digest: string | Error): Promise<string> => {
      const target = await mkdtemp(join(root, "target-"))
      const from = async () => {
        if (digest instanceof Error) throw digest
        return digest
      }
      await cached({ directory, digest: from }, target, async (at) => {
        built += 1
        await writeFile(join(at, "program.js"), `build ${built}`, { mode: 0o600 })
      })
      return readFile(join(target, "program.js"), "utf8")
    },
  }
}

test("what was built once is taken again until its sources change, and the old build goes", async () => {
  const directory = join(root, "cache")
  const { fill, built } = filling(directory)
  expect([await fill("a"), await fill("a"), await fill("a")]).toEqual(["build 1", "build 1", "build 1"])
  expect((await lstat(join(directory, "a/program.js"))).mode & 0o777).toBe(0o600)
  expect([await fill("b"), await fill("b")]).toEqual(["build 2", "build 2"])
  expect(await readdir(directory)).toEqual(["b"])
  expect(built()).toBe(2)
})

test("two that build at once both have a whole build, and leave one", async () => {
  const directory = join(root, "cache")
  const { fill } = filling(directory)
  const texts = await Promise.all([fill("a"), fill("a"), fill("a")])
  for (const text of texts) expect(text).toMatch(/^build [123]$/)
  expect(await readdir(directory)).toEqual(["a"])
})

test("where nothing can be kept, or the sources cannot be read, each start builds", async () => {
  const file = join(root, "file")
  await writeFile(file, "")
  const nowhere = filling(join(file, "cache"))
  expect([await nowhere.fill("a"), await nowhere.fill("a")]).toEqual(["build 1", "build 2"])
  const unread = filling(join(root, "cache"))
  expect([await unread.fill(new Error("gone")), await unread.fill(new Error("gone"))]).toEqual([
    "build 1",
    "build 2",
  ])
})

test("programs are for their owner alone, and the same sources give the same folder", async () => {
  const prepare = async (name: string): Promise<string> => {
    const state = join(root, name)
    await mkdir(state, { mode: 0o700 })
    const prepared = await preparePrograms(state)
    if (!prepared.ok) throw new Error(prepared.error.message)
    const { supervisor, sessionHost } = prepared.value
    for (const path of [supervisor, `${supervisor}.jsc`, sessionHost, `${sessionHost}.jsc`])
      expect((await lstat(path)).mode & 0o777).toBe(0o600)
    expect(await readdir(join(state, "programs"))).toHaveLength(1)
    return supervisor.slice(state.length)
  }
  const [first, second] = [await prepare("one"), await prepare("two")]
  expect(first).toBe(second)
})

test("a state directory in which nothing can be made is named", async () => {
  const file = join(root, "file")
  await writeFile(file, "")
  await chmod(file, 0o600)
  expect(await preparePrograms(file)).toMatchObject({
    ok: false,
    error: { code: "invalid_configuration", message: expect.stringContaining(file) },
  })
})
