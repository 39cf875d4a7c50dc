import { afterAll, beforeAll, expect, test } from "bun:test"
import { lstat, readdir, readFile, readlink, stat } from "node:fs/promises"
import { join } from "node:path"
import { boundLog } from "@computerd/control-plane/drivers/local/log-file"
import { makeWorkspace } from "@computerd/control-plane/drivers/local/workspace"
import { storeLayer } from "@computerd/control-plane/publication/layer/layer"
import type { ImageStep } from "@computerd/protocol/manifest"
import { createRig, type Rig, type Tree } from "../publication/rig.ts"

let rig: Rig
let count = 0
beforeAll(async () => {
  rig = await createRig()
})
afterAll(() => rig.remove())

const layerOf = async (tree: Tree, destination = "/w"): Promise<ImageStep> => {
  count += 1
  const path = await rig.program(`layer-${count}`, tree)
  const stored = await storeLayer(
    { path, gitignore: false, exclude: [] },
    { programDirectory: rig.root, field: "x" },
    rig.deps,
  )
  if (!stored.ok) throw new Error(stored.error.message)
  return { kind: "copy", layer: stored.value.digest, destination }
}

const make = async (...steps: readonly ImageStep[]): Promise<string> => {
  count += 1
  const workspace = join(rig.root, `workspace-${count}`)
  const { signal } = new AbortController()
  await makeWorkspace({
    workspace,
    steps: [...steps, { kind: "workdir", path: "/w" }],
    content: rig.content,
    signal,
  })
  return workspace
}

test("two workspaces from one layer are independent copies with modes and links as stored", async () => {
  const step = await layerOf({
    run: { mode: 0o755, text: "#!/bin/sh" },
    "deep/er/file.txt": "content",
    link: { link: "deep/er" },
    "empty/": "",
  })
  const [one, two] = await Promise.all([make(step), make(step)])
  await Bun.write(join(one, "deep/er/file.txt"), "changed")
  expect(await readFile(join(two, "deep/er/file.txt"), "utf8")).toBe("content")
  expect((await stat(join(two, "run"))).mode & 0o777).toBe(0o755)
  expect(await readlink(join(two, "link"))).toBe("deep/er")
  expect(await readdir(join(two, "empty"))).toEqual([])
  expect((await stat(two)).mode & 0o777).toBe(0o700)
})

test("a later step replaces files of an earlier one and adds to its directories", async () => {
  const first = await layerOf({ "a.txt": "1", "d/x": "1", l: { link: "a.txt" } })
  const second = await layerOf({ "a.txt": "2", "d/y": "2", l: { link: "d" } })
  const workspace = await make(first, second)
  expect(await readFile(join(workspace, "a.txt"), "utf8")).toBe("2")
  expect((await readdir(join(workspace, "d"))).toSorted()).toEqual(["x", "y"])
  expect(await readlink(join(workspace, "l"))).toBe("d")
})

test("no step writes through a link of an earlier one, neither into a directory nor into a file", async () => {
  const outside = join(rig.root, "outside")
  await Bun.write(join(outside, "kept.txt"), "kept")
  const links = await layerOf({ dir: { link: outside }, file: { link: join(outside, "kept.txt") } })
  const through = make(links, await layerOf({ "evil.txt": "x" }, "/w/dir"))
  await expect(through).rejects.toThrow("needs a directory")
  const workspace = await make(links, await layerOf({ file: "mine" }))
  expect((await lstat(join(workspace, "file"))).isFile()).toBe(true)
  expect(await readdir(outside)).toEqual(["kept.txt"])
  expect(await readFile(join(outside, "kept.txt"), "utf8")).toBe("kept")
})

test("what was interrupted is made anew, and what is whole is left as it is", async () => {
  const step = await layerOf({ "a.txt": "a", "b.txt": "b" })
  const workspace = join(rig.root, "interrupted")
  const steps: readonly ImageStep[] = [step, { kind: "workdir", path: "/w" }]
  const aborted = makeWorkspace({
    workspace,
    steps,
    content: rig.content,
    signal: AbortSignal.abort(new Error("stop")),
  })
  await expect(aborted).rejects.toThrow("stop")
  await Bun.write(join(`${workspace}.partial`, "left-over"), "x")
  const { signal } = new AbortController()
  await makeWorkspace({ workspace, steps, content: rig.content, signal })
  expect((await readdir(workspace)).toSorted()).toEqual(["a.txt", "b.txt"])
  await Bun.write(join(workspace, "work.txt"), "of a Session")
  await makeWorkspace({ workspace, steps, content: rig.content, signal })
  expect((await readdir(workspace)).toSorted()).toEqual(["a.txt", "b.txt", "work.txt"])
})

test("a log beyond its bound keeps its end and starts over while its writer goes on", async () => {
  const log = join(rig.root, "log")
  const writer = Bun.spawn(["sh", "-c", `exec >>${log}; seq 1 5000; read line; echo after`], {
    stdin: "pipe",
  })
  const full = async (): Promise<void> => {
    while (!(await readFile(log, "utf8").catch(() => "")).endsWith("\n5000\n")) await Bun.sleep(5)
  }
  await full()
  await boundLog(log, 1000)
  expect((await stat(log)).size).toBe(0)
  expect(await readFile(`${log}.1`, "utf8")).toEndWith("\n5000\n")
  writer.stdin.write("\n")
  writer.stdin.end()
  await writer.exited
  expect(await readFile(log, "utf8")).toBe("after\n")
  await boundLog(log, 1000)
  expect(await readFile(log, "utf8")).toBe("after\n")
})
