import { afterEach, beforeEach, expect, test } from "bun:test"
import { mkdir, mkdtemp, realpath, rm, stat, symlink, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { prepareStateDirectory } from "@computerd/control-plane/state-directory"

let root: string
beforeEach(async () => {
  root = await realpath(await mkdtemp(join(tmpdir(), "state-")))
})
afterEach(() => rm(root, { recursive: true, force: true }))

const mode = async (path: string): Promise<number> => (await stat(path)).mode & 0o777

test("a state directory is made with its parents, or taken over, for its owner alone", async () => {
  expect(await prepareStateDirectory(join(root, "a/b"))).toEqual({ ok: true, value: join(root, "a/b") })
  expect([await mode(join(root, "a")), await mode(join(root, "a/b"))]).toEqual([0o700, 0o700])
  await mkdir(join(root, "open"), { mode: 0o755 })
  await symlink(join(root, "open"), join(root, "link"))
  expect(await prepareStateDirectory(join(root, "link"))).toEqual({ ok: true, value: join(root, "open") })
  expect(await mode(join(root, "open"))).toBe(0o700)
})

test("what cannot be one is refused with the reason, in words", async () => {
  await writeFile(join(root, "file"), "")
  await symlink(join(root, "nothing"), join(root, "dangling"))
  const problem = async (path: string): Promise<string> => {
    const prepared = await prepareStateDirectory(join(root, path))
    return prepared.ok ? "accepted" : prepared.error.message
  }
  expect(await problem("file")).toBe(`the state directory ${root}/file cannot be used: it is not a directory`)
  expect(await problem("file/in")).toContain("leads through something that is not a directory")
  expect(await problem("dangling/in")).toContain("a link to nothing")
  expect(await problem("x".repeat(300))).toContain("its path is too long")
})
