import { afterEach, expect, test } from "bun:test"
import { chmod, mkdir, rm, symlink } from "node:fs/promises"
import { join } from "node:path"
import { isFindings } from "../../examples/repository-audit/audit/findings.ts"
import { auditFolder } from "../../examples/repository-audit/audit/folder.ts"
import { topFolders } from "../../examples/repository-audit/audit/selection.ts"
import { type Fixture, fixture, repository } from "./fixture.ts"

const made: Fixture[] = []
const tracked = async (fresh: Promise<Fixture>): Promise<Fixture> => {
  const one = await fresh
  made.push(one)
  return one
}
afterEach(async () => {
  for (const one of made.splice(0)) await one.remove()
})

const audit = (repo: Fixture, folder: string) =>
  auditFolder({ workspace: repo.path, folder, signal: new AbortController().signal })

test("a folder's files, lines, languages, markers and changes have the known answers", async () => {
  const repo = await tracked(repository())
  await repo.write({
    "src/main.ts": "// TODO one\nexport const a = 1\n",
    "src/deep/util.py": "# FIXME\n# TODO\nx = 1\n",
    "src/logo.png": new Uint8Array([137, 80, 78, 71, 0, 1, 2]),
    "src/empty.ts": "",
    "README.md": "# Title\n",
    ".gitignore": "*.log\n",
  })
  await repo.commit("one")
  await repo.write({ "src/main.ts": "// TODO one\nexport const a = 2\nexport const b = 3" })
  await repo.commit("two")
  await repo.write({ "src/new.md": "untracked\n", "src/debug.log": "ignored\n" })

  const findings = await audit(repo, "src")
  expect(findings).toEqual({
    folder: "src",
    selectedBy: "git",
    files: 5,
    bytes: 49 + 21 + 7 + 0 + 10,
    binaryFiles: 1,
    lines: 3 + 3 + 0 + 1,
    markers: 3,
    apart: { links: 0, repositories: 0, special: 0, missing: 0, unreadable: 0 },
    languages: [
      { language: "Python", files: 1, lines: 3 },
      { language: "TypeScript", files: 2, lines: 3 },
      { language: "Markdown", files: 1, lines: 1 },
    ],
    largest: [
      { path: "src/main.ts", count: 49 },
      { path: "src/deep/util.py", count: 21 },
      { path: "src/new.md", count: 10 },
      { path: "src/logo.png", count: 7 },
    ],
    longest: [
      { path: "src/deep/util.py", count: 3 },
      { path: "src/main.ts", count: 3 },
      { path: "src/new.md", count: 1 },
    ],
    marked: [
      { path: "src/deep/util.py", count: 2 },
      { path: "src/main.ts", count: 1 },
    ],
    changed: [
      { path: "src/main.ts", count: 2 },
      { path: "src/deep/util.py", count: 1 },
      { path: "src/empty.ts", count: 1 },
      { path: "src/logo.png", count: 1 },
    ],
    history: { kind: "read", commits: 2, limited: false, shallow: false },
  })
  expect(isFindings(JSON.parse(JSON.stringify(findings)))).toBe(true)
  expect(await topFolders(repo.path)).toEqual(["src"])
})

test("the top level is audited without what is in folders", async () => {
  const repo = await tracked(repository())
  await repo.write({ "a.txt": "1\n", "b/a.txt": "2\n", "c/d/a.txt": "3\n" })
  await repo.commit("one")
  await repo.write({ "z.txt": "4" })
  const findings = await audit(repo, ".")
  expect(findings.longest).toEqual([
    { path: "a.txt", count: 1 },
    { path: "z.txt", count: 1 },
  ])
  expect(findings.changed).toEqual([{ path: "a.txt", count: 1 }])
})

test("merges are not counted, side branches are, and a renamed file starts anew", async () => {
  const repo = await tracked(repository())
  await repo.write({ "a/x": "1\n", "a/y": "1\n" })
  await repo.commit("one")
  await repo.git("checkout", "--quiet", "-b", "side")
  await repo.write({ "a/x": "2\n" })
  await repo.commit("two")
  await repo.git("checkout", "--quiet", "main")
  await repo.write({ "a/y": "2\n" })
  await repo.commit("three")
  await repo.git("merge", "--quiet", "--no-edit", "side")
  await repo.git("mv", "a/y", "a/z")
  await repo.commit("four")
  const { changed, history } = await audit(repo, "a")
  expect(changed).toEqual([
    { path: "a/x", count: 2 },
    { path: "a/z", count: 1 },
  ])
  expect(history).toMatchObject({ commits: 4 })
})

test("without a repository every file counts but those of .git and node_modules", async () => {
  const folder = await tracked(fixture())
  await folder.write({
    "a/.gitignore": "*\n",
    "a/x.c": "int x;\n",
    "a/node_modules/p/i.js": "1\n",
    "a/b/.git/HEAD": "ref\n",
    "node_modules/q/i.js": "1\n",
  })
  const findings = await audit(folder, "a")
  expect(findings).toMatchObject({
    selectedBy: "walk",
    files: 2,
    history: { kind: "none", reason: "no_repository" },
  })
  expect(await topFolders(folder.path)).toEqual(["a"])
})

test("links are counted and not followed, not even where git expects a folder", async () => {
  const outside = await tracked(fixture())
  await outside.write({ "secret.txt": "secret\n", "f/inner.txt": "secret\n" })
  const repo = await tracked(repository())
  await repo.write({ "a/real.txt": "1\n", "a/f/inner.txt": "2\n" })
  await repo.commit("one")
  await symlink(join(outside.path, "secret.txt"), join(repo.path, "a/link.txt"))
  await rm(join(repo.path, "a/f"), { recursive: true })
  await symlink(join(outside.path, "f"), join(repo.path, "a/f"))
  const { files, bytes, apart } = await audit(repo, "a")
  expect({ files, bytes }).toEqual({ files: 1, bytes: 2 })
  expect(apart).toMatchObject({ links: 2, missing: 1 })
})

test("odd names are read like others", async () => {
  const names = ["a b", "új", "q'\"`", "line\nfeed", "-rf", ":(top)x", "*", "[z]", "~"]
  const repo = await tracked(repository())
  await repo.write(Object.fromEntries(names.flatMap((name) => [[`${name}/${name}.txt`, "1\n"]])))
  await repo.commit("one")
  expect(await topFolders(repo.path)).toEqual([...names].sort())
  for (const name of names) {
    const findings = await audit(repo, name)
    expect({ name, files: findings.files, changed: findings.changed }).toEqual({
      name,
      files: 1,
      changed: [{ path: `${name}/${name}.txt`, count: 1 }],
    })
  }
})

test("an empty folder, a file that is gone, a pipe and a repository inside are told apart", async () => {
  const repo = await tracked(repository())
  await mkdir(join(repo.path, "empty"))
  await repo.write({ "a/gone.txt": "1\n", "a/kept.txt": "1\n" })
  await repo.commit("one")
  await rm(join(repo.path, "a/gone.txt"))
  await repo.write({ "a/inner/x.txt": "1\n" })
  await repo.git("-C", "a/inner", "init", "--quiet")
  expect(await audit(repo, "empty")).toMatchObject({ files: 0, lines: 0, selectedBy: "git" })
  const plain = await tracked(fixture())
  await mkdir(join(plain.path, "p"))
  expect(Bun.spawnSync(["mkfifo", join(plain.path, "p/pipe")]).success).toBe(true)
  expect((await audit(plain, "p")).apart.special).toBe(1)
  expect(await audit(repo, "a")).toMatchObject({ files: 1, apart: { missing: 1, repositories: 1 } })
})

test("a submodule is named and not audited, and a .git file ends the history", async () => {
  const inner = await tracked(repository())
  await inner.write({ "x.txt": "1\n" })
  await inner.commit("one")
  const repo = await tracked(repository())
  await repo.write({ "a/y.txt": "1\n" })
  await repo.git("-c", "protocol.file.allow=always", "submodule", "add", "--quiet", inner.path, "sub")
  await repo.commit("one")
  expect(await topFolders(repo.path)).toEqual(["a", "sub"])
  expect(await audit(repo, "sub")).toMatchObject({ files: 0, apart: { repositories: 1 } })
  const submodule = { ...repo, path: join(repo.path, "sub") }
  expect(await audit(submodule, ".")).toMatchObject({
    files: 1,
    selectedBy: "walk",
    history: { kind: "none", reason: "linked" },
  })
})

test("a shallow clone says so and leaves out the commits at its edge", async () => {
  const origin = await tracked(repository())
  for (const round of ["1", "2", "3"]) {
    await origin.write({ "a/x": round, "a/y": "same" })
    await origin.commit(round)
  }
  const clone = await tracked(fixture())
  await clone.git("clone", "--quiet", "--depth=2", `file://${origin.path}`, ".")
  expect(await audit(clone, "a")).toMatchObject({
    changed: [{ path: "a/x", count: 1 }],
    history: { kind: "read", commits: 1, shallow: true },
  })
})

test("a repository without commits, a broken one and a borrowing one have no change counts", async () => {
  const fresh = await tracked(repository())
  await fresh.write({ "a/x": "1" })
  expect(await audit(fresh, "a")).toMatchObject({ files: 1, history: { kind: "none", reason: "no_commits" } })

  const broken = await tracked(fixture())
  await broken.write({ "a/x": "1", ".git/config": "[core\n" })
  expect(await audit(broken, "a")).toMatchObject({
    files: 1,
    selectedBy: "walk",
    history: { kind: "none", reason: "unreadable" },
  })

  const origin = await tracked(repository())
  await origin.write({ "a/x": "1" })
  await origin.commit("one")
  const borrower = await tracked(fixture())
  await borrower.git("clone", "--quiet", "--shared", origin.path, ".")
  expect(await audit(borrower, "a")).toMatchObject({
    selectedBy: "git",
    history: { kind: "none", reason: "borrowed" },
  })
})

test("what the repository configures is not run", async () => {
  const repo = await tracked(repository())
  const trap = join(repo.path, ".git/trap")
  await repo.write({ "a/x": "1", ".git/trap": `#!/bin/sh\ntouch ${repo.path}/sprung\n` })
  await chmod(trap, 0o755)
  await repo.commit("one")
  for (const key of ["core.fsmonitor", "core.pager", "diff.external", "core.sshCommand"])
    await repo.git("config", key, trap)
  await repo.git("config", "core.worktree", "/")
  expect(await audit(repo, "a")).toMatchObject({ files: 1, history: { commits: 1 } })
  expect(await Bun.file(join(repo.path, "sprung")).exists()).toBe(false)
})

test("an unreadable file and folder are counted", async () => {
  const folder = await tracked(fixture())
  await folder.write({ "a/x": "1", "a/b/y": "1", "a/z": "1" })
  await chmod(join(folder.path, "a/x"), 0)
  await chmod(join(folder.path, "a/b"), 0)
  const { files, apart } = await audit(folder, "a")
  await chmod(join(folder.path, "a/b"), 0o700)
  // Root reads everything.
  const expected = process.getuid?.() === 0 ? { files: 3, unreadable: 0 } : { files: 1, unreadable: 2 }
  expect({ files, unreadable: apart.unreadable }).toEqual(expected)
})

test("only a top-level folder is audited", async () => {
  const folder = await tracked(fixture())
  for (const name of ["", "..", "/", "/etc", "a/b", "../a"])
    expect(audit(folder, name)).rejects.toThrow("is no top-level folder")
})

test("an aborted audit ends", async () => {
  const folder = await tracked(fixture())
  await folder.write({ "a/x": "1" })
  const request = { workspace: folder.path, folder: "a", signal: AbortSignal.abort(new Error("stop")) }
  expect(auditFolder(request)).rejects.toThrow("stop")
})
