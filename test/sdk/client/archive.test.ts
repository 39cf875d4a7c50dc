import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test"
import {
  chmod,
  link,
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  rm,
  stat,
  symlink,
  writeFile,
} from "node:fs/promises"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import { unpackProgram } from "@computerd/control-plane/api/upload/unpack"
import { pack } from "@helmr/sdk/client/archive/pack"
import { archiveOf } from "@helmr/sdk/client/archive/program"
import { selectFiles } from "@helmr/sdk/client/archive/select"
import fc from "fast-check"
import { failureOf } from "./fake.ts"

setDefaultTimeout(30_000)

let work: string
beforeAll(async () => {
  work = await mkdtemp(join(tmpdir(), "archive-"))
})
afterAll(() => rm(work, { recursive: true }))

const { signal } = new AbortController()
const unbounded = { gitignore: true, entriesMax: 20_000, signal }

/** Names that end in a slash are empty directories. */
const tree = async (files: Readonly<Record<string, string>>): Promise<string> => {
  const directory = await mkdtemp(join(work, "program-"))
  for (const [path, text] of Object.entries(files)) {
    await mkdir(join(directory, path.endsWith("/") ? path : dirname(path)), { recursive: true })
    if (!path.endsWith("/")) await writeFile(join(directory, path), text)
  }
  return directory
}
const select = (directory: string, fields = {}) => selectFiles({ directory, ...unbounded, ...fields })

/** What the server makes of an archive. */
const unpacked = async (archive: Uint8Array): Promise<string> => {
  const target = await mkdtemp(join(work, "unpacked-"))
  const file = join(await mkdtemp(join(work, "tar-")), "a.tar")
  await writeFile(file, archive)
  const done = await unpackProgram(file, target, { unpackedMaxBytes: 1 << 28, archiveEntriesMax: 20_000 })
  if (!done.ok) throw new Error(done.error.message)
  return target
}

describe("what goes along", () => {
  test("a .gitignore is read as git reads it, at every depth", async () => {
    const name = fc.constantFrom("a", "b", "ab", "x.log", ".env", "[a]", "sp ace", "...", "#a", "!a")
    const path = fc.array(name, { minLength: 1, maxLength: 3 }).map((parts) => parts.join("/"))
    const pattern = fc.oneof(
      fc.constantFrom(
        "*",
        "*.log",
        "a/",
        "/a",
        "a/b",
        "**/b",
        "a/**",
        "/*",
        "!.env",
        "\\#a",
        "\\!a",
        "\\[a\\]",
        "# a",
        "",
        "/",
        "a?",
        "[ab]",
        "b  ",
        "!*/",
      ),
      path,
      path.map((text) => `!${text}`),
      path.map((text) => `/${text}/`),
    )
    const rules = fc.array(pattern, { maxLength: 4 }).map((lines) => lines.join("\n"))
    const given = fc.record({
      paths: fc.uniqueArray(path, { minLength: 1, maxLength: 8 }),
      ignores: fc.dictionary(fc.constantFrom("", "a/", "b/", "a/b/", "[a]/"), rules, { maxKeys: 3 }),
    })
    await fc.assert(
      fc.asyncProperty(given, async ({ paths, ignores }) => {
        const files = paths.filter((one) => !paths.some((other) => other.startsWith(`${one}/`)))
        const fitting = Object.entries(ignores).filter(
          ([base]) => !files.some((one) => base.startsWith(`${one}/`)),
        )
        const directory = await tree({
          ...Object.fromEntries(files.map((one) => [one, "x"])),
          ...Object.fromEntries(fitting.map(([base, text]) => [`${base}.gitignore`, text])),
        })
        const git = (...args: string[]) =>
          Bun.spawnSync(["git", "-c", "core.excludesFile=/dev/null", "-C", directory, ...args], {
            env: {
              PATH: process.env["PATH"] ?? "",
              GIT_CONFIG_GLOBAL: "/dev/null",
              GIT_CONFIG_SYSTEM: "/dev/null",
            },
          })
        git("init", "-q", "--template=")
        const listed = git("ls-files", "-z", "--others", "--exclude-standard").stdout.toString()
        const expected = listed.split("\0").filter((one) => one !== "")
        expect(await select(directory)).toEqual(expected.toSorted())
        await rm(directory, { recursive: true })
      }),
      { numRuns: 150 },
    )
  })

  test("node_modules goes along whatever .gitignore says, but what is no package and the SDK", async () => {
    const directory = await tree({
      ".gitignore": "node_modules\n*.js\ndist/\n",
      "index.ts": "",
      "dist/node_modules/lost/index.js": "",
      "node_modules/.bin/tool": "",
      "node_modules/.package-lock.json": "",
      "node_modules/pkg/index.js": "",
      "node_modules/pkg/.hidden": "",
      "node_modules/pkg/.gitignore": "*",
      "node_modules/pkg/.git/config": "",
      "node_modules/pkg/node_modules/.bin/tool": "",
      "node_modules/pkg/node_modules/inner/index.js": "",
      "node_modules/@helmr/sdk/index.js": "",
      "node_modules/@helmr/other/index.js": "",
      "nested/node_modules/deep/index.js": "",
      ".git/config": "",
    })
    expect(await select(directory)).toEqual([
      ".gitignore",
      "index.ts",
      "nested/node_modules/deep/index.js",
      "node_modules/@helmr/other/index.js",
      "node_modules/pkg/.gitignore",
      "node_modules/pkg/.hidden",
      "node_modules/pkg/index.js",
      "node_modules/pkg/node_modules/inner/index.js",
    ])
    expect(await select(directory, { gitignore: false })).toContain("dist/node_modules/lost/index.js")
  })

  test("a link goes along as what it leads to: inside the program, and for packages anywhere", async () => {
    const outside = await tree({ "package/index.js": "outside" })
    const directory = await tree({ "lib/a.ts": "a", "node_modules/": "" })
    await symlink("lib/a.ts", join(directory, "b.ts"))
    await symlink("lib", join(directory, "alias"))
    await symlink(join(outside, "package"), join(directory, "node_modules/linked"))
    expect(await select(directory)).toEqual([
      "alias/a.ts",
      "b.ts",
      "lib/a.ts",
      "node_modules/linked/index.js",
    ])
    const target = await unpacked(await archiveOf({ directory }, signal))
    expect(await readFile(join(target, "b.ts"), "utf8")).toBe("a")
    expect(await readFile(join(target, "node_modules/linked/index.js"), "utf8")).toBe("outside")
  })

  test.each([
    ["a link that leads out", (at: string) => symlink("/etc/hostname", join(at, "x")), "leads out"],
    ["a link to its own directory", (at: string) => symlink(".", join(at, "x")), "that it lies in"],
    ["a link above", (at: string) => symlink("..", join(at, "x")), "that it lies in"],
    ["a broken link", (at: string) => symlink("absent", join(at, "x")), "leads nowhere"],
    ["a link to itself", (at: string) => symlink("x", join(at, "x")), "leads nowhere"],
    ["a pipe", (at: string) => Bun.$`mkfifo ${join(at, "x")}`.quiet(), "neither a file nor a directory"],
    ["a backslash in a name", (at: string) => writeFile(join(at, "x\\y"), ""), "backslash"],
  ])("%s is named and refused, unless it is ignored", async (_, make, problem) => {
    const directory = await tree({ "index.ts": "" })
    await make(directory)
    const error = await failureOf(archiveOf({ directory }, signal))
    expect(error).toMatchObject({ code: "invalid_program", field: "directory" })
    expect(String(error)).toContain(`${directory}: x`)
    expect(String(error)).toContain(problem)
    await writeFile(join(directory, ".gitignore"), "x*\n")
    expect(await select(directory)).toEqual([".gitignore", "index.ts"])
  })

  test("links that lead to ever more directories are bounded, though they hold no file", async () => {
    const directory = await tree(
      Object.fromEntries(Array.from({ length: 20 }, (_, level) => [`${level}/`, ""])),
    )
    for (let level = 0; level < 19; level += 1)
      for (const name of ["l", "r"]) await symlink(`../${level + 1}`, join(directory, `${level}/${name}`))
    expect(String(await failureOf(select(directory, { entriesMax: 500 })))).toContain("more than 500 files")
  })

  test("a .gitignore that cannot be read is an error: what it names may be secret", async () => {
    const directory = await tree({ "index.ts": "", ".env": "secret" })
    // Readable to nobody, not even to root.
    await symlink("/proc/self/mem", join(directory, ".gitignore"))
    expect(await failureOf(archiveOf({ directory }, signal))).toMatchObject({ code: "invalid_arguments" })
  })
})

describe("the archive", () => {
  test("holds every file as it is: odd names, modes, empty ones, hard links; the server takes it", async () => {
    const long = `${"n".repeat(200)}/${"m".repeat(200)}/file`
    const names = [
      "@at",
      "@scope/x",
      "sp ace",
      "-rf",
      "ünï/𝒳.ts",
      "line\nbreak",
      "empty",
      "script.sh",
      long,
      "...",
    ]
    const directory = await tree(
      Object.fromEntries(names.map((name) => [name, name === "empty" ? "" : name])),
    )
    await chmod(join(directory, "script.sh"), 0o755)
    await link(join(directory, "@at"), join(directory, "other"))
    const target = await unpacked(await archiveOf({ directory }, signal))
    for (const name of names)
      expect(await readFile(join(target, name), "utf8")).toBe(name === "empty" ? "" : name)
    expect(await readFile(join(target, "other"), "utf8")).toBe("@at")
    expect((await stat(join(target, "other"))).nlink).toBe(1)
    expect((await stat(join(target, "script.sh"))).mode & 0o111).toBe(0o111)
    expect((await stat(join(target, "-rf"))).mode & 0o111).toBe(0)
    expect(await readdir(target)).toHaveLength(names.length + 1)
  })

  test("has the same bytes for the same files, wherever and whenever they were written", async () => {
    const files = { "b.ts": "b", "a/c.ts": "c", "a.ts": "a", [`${"n".repeat(120)}/x`]: "x" }
    const one = await archiveOf({ directory: await tree(files) }, signal)
    const reversed = Object.fromEntries(Object.entries(files).toReversed())
    const other = await archiveOf({ directory: await tree(reversed) }, signal)
    expect(Buffer.compare(one, other)).toBe(0)
    const changed = await archiveOf({ directory: await tree({ ...files, "a.ts": "b" }) }, signal)
    expect(Buffer.compare(one, changed)).not.toBe(0)
  })

  test("has bounds for what it holds", async () => {
    const directory = await tree({ a: "x".repeat(5_000), b: "", "c/": "", d: "" })
    expect(await select(directory, { entriesMax: 4 })).toEqual(["a", "b", "d"])
    expect(String(await failureOf(select(directory, { entriesMax: 3 })))).toContain(
      "more than 3 files and directories",
    )
    const packed = pack({ directory, files: ["a"], maxBytes: 4_000, signal })
    expect(String(await failureOf(packed))).toContain("larger than 4000 bytes")
  })

  test("a file that is gone when it is its turn is an error, not an archive without it", async () => {
    const directory = await tree({ a: "x", b: "x".repeat(300_000) })
    // Whenever the error comes: before the first chunk, between two, and more than once.
    for (const files of [["gone"], ["a", "gone"], ["gone", "b"], ["b", "gone", "a", "gone too", "b"]])
      for (let time = 0; time < 25; time += 1)
        expect(await failureOf(pack({ directory, files, maxBytes: 1e7, signal }))).toMatchObject({
          code: "ENOENT",
        })
  })

  test.each([
    ["an empty directory", () => tree({}), "invalid_program"],
    ["nothing but what is ignored", () => tree({ ".git/config": "" }), "invalid_program"],
    ["a directory that is not there", async () => join(work, "absent"), "invalid_arguments"],
    ["a file", async () => join(await tree({ a: "" }), "a"), "invalid_arguments"],
  ])("%s is no program", async (_, make, code) => {
    expect(await failureOf(archiveOf({ directory: await make() }, signal))).toMatchObject({
      code,
      field: "directory",
    })
  })

  test("an abort ends it with its reason, while it selects and while it packs", async () => {
    const directory = await tree({ a: "x", b: "y" })
    const reason = new Error("enough")
    expect(await failureOf(archiveOf({ directory }, AbortSignal.abort(reason)))).toBe(reason)
    const abort = new AbortController()
    const packed = pack({ directory, files: ["a", "b"], maxBytes: 1e6, signal: abort.signal })
    abort.abort(reason)
    expect(await failureOf(packed)).toBe(reason)
  })

  test("an archive of the caller's is copied: what changes later is not sent", async () => {
    const archive = new Uint8Array([1, 2, 3])
    const taken = await archiveOf({ archive }, signal)
    archive.fill(0)
    expect([...taken]).toEqual([1, 2, 3])
  })
})
