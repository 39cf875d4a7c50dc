import { afterAll, afterEach, beforeAll, describe, expect, test } from "bun:test"
import { chmod, lstat, readdir, readFile, readlink, rm, symlink, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { storeLayer } from "@computerd/control-plane/publication/layer/layer"
import { createRig, program, type Rig, type Tree, writeTree } from "./rig.ts"

let rig: Rig
let folders = 0
beforeAll(async () => {
  rig = await createRig()
})
afterAll(() => rig.remove())
afterEach(async () => expect(await readdir(join(rig.stateDirectory, "staging"))).toEqual([]))

const sourceOf = async (tree: Tree): Promise<string> => {
  folders += 1
  return rig.program(`source-${folders}`, tree)
}

const store = async (path: string, options: { gitignore?: boolean; exclude?: readonly string[] } = {}) => {
  const source = { path, gitignore: options.gitignore ?? true, exclude: options.exclude ?? [] }
  const stored = await storeLayer(source, { programDirectory: rig.root, field: "step" }, rig.deps)
  if (!stored.ok) throw new Error(stored.error.message)
  return { ...stored.value, directory: rig.content.layerDirectory(stored.value.digest) }
}

const listing = async (directory: string): Promise<readonly string[]> =>
  (await readdir(directory, { recursive: true })).toSorted()

const git = (directory: string, ...args: readonly string[]): void => {
  const identity = ["-c", "user.name=t", "-c", "user.email=t@example.com", "-c", "init.defaultBranch=main"]
  const { exitCode, stderr } = Bun.spawnSync(["git", ...identity, ...args], { cwd: directory })
  if (exitCode !== 0) throw new Error(stderr.toString())
}

describe("what a layer holds", () => {
  test("files, modes, links as they are and empty directories", async () => {
    const source = await sourceOf({
      "plain.txt": "plain",
      "bin/run": { mode: 0o755, text: "#!/bin/sh" },
      secret: { mode: 0o600, text: "x" },
      up: { link: "../../outside" },
      dangling: { link: "nowhere" },
      "empty/": "",
    })
    const { directory, notices } = await store(source)
    expect(notices).toEqual([])
    expect(await listing(directory)).toEqual([
      "bin",
      "bin/run",
      "dangling",
      "empty",
      "plain.txt",
      "secret",
      "up",
    ])
    expect((await lstat(join(directory, "bin/run"))).mode & 0o777).toBe(0o755)
    expect((await lstat(join(directory, "secret"))).mode & 0o777).toBe(0o600)
    expect(await readlink(join(directory, "up"))).toBe("../../outside")
  })

  test("a directory that its owner may not write is stored with its mode and can be removed again", async () => {
    const source = await sourceOf({ "closed/inner.txt": "x" })
    await chmod(join(source, "closed"), 0o555)
    const { directory } = await store(source)
    expect((await lstat(join(directory, "closed"))).mode & 0o777).toBe(0o555)
  })

  test("what is neither file, directory nor link is left out and said", async () => {
    const source = await sourceOf({ "a.txt": "a" })
    Bun.spawnSync(["mkfifo", join(source, "pipe")])
    const { directory, notices } = await store(source)
    expect(await listing(directory)).toEqual(["a.txt"])
    expect(notices).toEqual(["pipe is neither a file, a directory nor a link; it is left out"])
  })

  test("the control plane's own state is never part of a layer", async () => {
    const { directory } = await store(rig.root)
    expect(await readdir(directory)).not.toContain("state")
  })

  test("the same content gives the same digest, and a mode, a name or a link target another", async () => {
    const tree: Tree = { "a.txt": "a", "b/c.txt": "c", l: { link: "a.txt" } }
    const { digest } = await store(await sourceOf(tree))
    expect((await store(await sourceOf(tree))).digest).toBe(digest)
    const others: readonly Tree[] = [
      { ...tree, "a.txt": "A" },
      { ...tree, "a.txt": { mode: 0o755, text: "a" } },
      { ...tree, l: { link: "b" } },
      { ...tree, "b/d/": "" },
      { "a.txt": "a", "b/e.txt": "c", l: { link: "a.txt" } },
    ]
    const digests = await Promise.all(
      others.map(async (other) => (await store(await sourceOf(other))).digest),
    )
    expect(new Set([digest, ...digests]).size).toBe(others.length + 1)
  })

  test("nothing reads the source afterwards, and stored content does not follow its changes", async () => {
    const source = await sourceOf({ "a.txt": "before" })
    const { directory } = await store(source)
    await writeFile(join(source, "a.txt"), "after!")
    expect(await readFile(join(directory, "a.txt"), "utf8")).toBe("before")
    await rm(source, { recursive: true })
    expect(await readFile(join(directory, "a.txt"), "utf8")).toBe("before")
  })

  test("many publications of one source at once agree and leave one layer", async () => {
    const source = await sourceOf(
      Object.fromEntries(Array.from({ length: 60 }, (_, n) => [`d${n % 7}/f${n}`, `${n}`])),
    )
    const stored = await Promise.all(Array.from({ length: 6 }, () => store(source)))
    expect(new Set(stored.map((layer) => layer.digest)).size).toBe(1)
    expect((await listing(stored[0]?.directory ?? "")).length).toBe(67)
  })
})

describe("what gitignore leaves out", () => {
  test("nested files overrule shallower ones, negations count, and without gitignore all stay", async () => {
    const source = await sourceOf({
      ".gitignore": "*.log\nbuild/\n/only-root\n",
      "a.log": "",
      "keep/.gitignore": "!wanted.log\n",
      "keep/wanted.log": "",
      "keep/other.log": "",
      "keep/only-root": "",
      "only-root": "",
      "build/out.js": "",
      "src/build/deep.js": "",
      "src/build.txt": "",
    })
    const { directory } = await store(source)
    expect(await listing(directory)).toEqual(
      [
        ".gitignore",
        "keep",
        "keep/.gitignore",
        "keep/only-root",
        "keep/wanted.log",
        "src",
        "src/build.txt",
      ].toSorted(),
    )
    const whole = await store(source, { gitignore: false })
    expect(await listing(whole.directory)).toEqual(await listing(source))
  })

  test("what git tracks stays although it is ignored; .git is carried whole; git's own exclude file counts", async () => {
    const source = await sourceOf({
      ".gitignore": "vendor/\n*.gen\n",
      "a.gen": "tracked",
      "vendor/kept/lib.js": "tracked",
      "src/a.ts": "a",
    })
    git(source, "init", "-q")
    git(source, "add", "-f", ".")
    git(source, "commit", "-q", "-m", "one")
    await writeTree(source, {
      "b.gen": "untracked",
      "vendor/other.js": "untracked",
      "vendor/kept/more.js": "untracked",
      "notes.txt": "private",
      "new.ts": "untracked and wanted",
      ".git/info/exclude": "notes.txt\n",
      ".git/hooks/ignored.gen": "part of .git",
    })
    const { directory } = await store(source)
    const outside = (await listing(directory)).filter((path) => !path.startsWith(".git/"))
    expect(outside).toEqual(
      [
        ".git",
        ".gitignore",
        "a.gen",
        "new.ts",
        "src",
        "src/a.ts",
        "vendor",
        "vendor/kept",
        "vendor/kept/lib.js",
      ].toSorted(),
    )
    const inGit = await listing(join(source, ".git"))
    expect(await listing(join(directory, ".git"))).toEqual(inGit)
    const log = Bun.spawnSync(["git", "-c", "safe.directory=*", "log", "--format=%s"], { cwd: directory })
    expect(log.stdout.toString()).toBe("one\n")
  })

  test("a folder of a repository follows the patterns above it", async () => {
    const repository = await sourceOf({ ".gitignore": "node_modules/\n/sub/secret\n", "sub/a.ts": "a" })
    git(repository, "init", "-q")
    await writeTree(repository, {
      "sub/node_modules/x/index.js": "",
      "sub/secret": "",
      "sub/deep/secret": "",
    })
    const { directory } = await store(join(repository, "sub"))
    expect(await listing(directory)).toEqual(["a.ts", "deep", "deep/secret"])
  })

  test("exclude leaves out what git tracks too, and parts of .git", async () => {
    const source = await sourceOf({ "a.ts": "", "big/data.bin": "", "docs/a.md": "" })
    git(source, "init", "-q")
    git(source, "add", ".")
    const { directory } = await store(source, { exclude: ["big/", "*.md", ".git/"] })
    expect(await listing(directory)).toEqual(["a.ts", "docs"])
  })

  test("a repository cannot make git run a program of its own", async () => {
    const source = await sourceOf({ "a.ts": "" })
    git(source, "init", "-q")
    const proof = join(rig.root, "monitor-ran")
    git(source, "config", "core.fsmonitor", `touch ${proof}; false`)
    await store(source)
    expect(await Bun.file(proof).exists()).toBe(false)
  })

  test("a worktree's pointer is carried and its missing history is said", async () => {
    const source = await sourceOf({ ".git": "gitdir: /somewhere/else\n", "a.ts": "" })
    const { notices } = await store(source)
    expect(notices).toEqual([
      ".git points to a repository outside of this directory; its history is not carried",
    ])
  })
})

describe("sources of a program", () => {
  test("a missing or unreadable source directory names its step, and nothing is published", async () => {
    const image = 'image("plain").copy(source.directory("./gone"), "/workspace")'
    const missing = await rig.publish(await rig.program("missing", { "index.ts": program({ image }) }))
    expect(missing).toMatchObject({
      ok: false,
      error: { code: "invalid_program", field: "templates[t].image.steps[0].source" },
    })
    const file = await rig.program("file-source", { "index.ts": program({ image }), gone: "a file" })
    expect(await rig.publish(file)).toMatchObject({
      ok: false,
      error: { message: expect.stringContaining("not a directory") },
    })
  })

  test("relative sources start at the program, absolute ones where they say", async () => {
    const outside = await sourceOf({ "o.txt": "o" })
    const head = `const outside = ${JSON.stringify(outside)}`
    const image =
      'image("plain").copy(source.directory("files"), "/w").copy(source.directory(outside), "/w/o").workdir("/w")'
    const directory = await rig.program("two-sources", {
      "index.ts": program({ head, image }),
      "files/i.txt": "i",
    })
    const result = await rig.publish(directory)
    if (!result.ok) throw new Error(result.error.message)
    const layers = result.value.manifest.templates[0]?.image.steps.flatMap((step) =>
      step.kind === "copy" ? [step.layer] : [],
    )
    const names = await Promise.all((layers ?? []).map((layer) => readdir(rig.content.layerDirectory(layer))))
    expect(names).toEqual([["i.txt"], ["o.txt"]])
  })

  test("publications at once are independent", async () => {
    const image = 'image("plain").copy(source.directory("."), "/workspace")'
    const directories = await Promise.all(
      [1, 2, 3].map((n) =>
        rig.program(`parallel-${n}`, { "index.ts": program({ image, tail: `export const n = ${n}` }) }),
      ),
    )
    const results = await Promise.all(
      [...directories, ...directories].map((directory) => rig.publish(directory)),
    )
    const bundles = results.map((result) => (result.ok ? result.value.manifest.bundle : result.error.message))
    expect(bundles.slice(0, 3)).toEqual(bundles.slice(3))
    expect(new Set(bundles).size).toBe(3)
  })

  test("a source that is a link to a directory is followed once", async () => {
    const target = await sourceOf({ "t.txt": "t" })
    const link = join(rig.root, "link-to-source")
    await symlink(target, link)
    const { directory } = await store(link)
    expect(await readdir(directory)).toEqual(["t.txt"])
  })
})
