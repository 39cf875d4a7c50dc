import { afterEach, beforeEach, expect, test } from "bun:test"
import { createHash } from "node:crypto"
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs"
import { dirname, join } from "node:path"
import { Digest } from "@computerd/protocol/ids"
import { bundlePath } from "@computerd/protocol/link"
import { type Bundles, createBundles } from "@computerd/supervisor/bundle/bundles"
import { createJournal, type JournalEntry } from "@computerd/supervisor/journal"
import { ports, temporaryDirectory } from "../harness.ts"

let directory: string
let entries: JournalEntry[]
let archives: Map<string, Uint8Array>
let requests: string[]
/** What the next requests get instead of the archive. */
let faults: (Response | Uint8Array)[]
let server: Bun.Server<undefined>
let bundles: Bundles

beforeEach(() => {
  directory = temporaryDirectory()
  entries = []
  archives = new Map()
  requests = []
  faults = []
  server = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    fetch: (request) => {
      const { pathname } = new URL(request.url)
      requests.push(`${request.headers.get("authorization")} ${pathname}`)
      const fault = faults.shift()
      if (fault instanceof Response) return fault
      const archive = fault ?? archives.get(pathname)
      return archive === undefined ? new Response(null, { status: 404 }) : new Response(archive)
    },
  })
  bundles = create()
})
afterEach(async () => {
  await server.stop(true)
  rmSync(directory, { recursive: true, force: true })
})

const create = (): Bundles =>
  createBundles({
    ports,
    journal: createJournal(ports.clock, [(entry) => entries.push(entry)]),
    stateDirectory: join(directory, "state"),
    controlPlaneUrl: `http://127.0.0.1:${server.port}`,
    credential: () => "the-credential",
    firstPauseMs: 1,
  })

const write = (root: string, path: string, text: string): void => {
  mkdirSync(dirname(join(root, path)), { recursive: true })
  writeFileSync(join(root, path), text)
}

/** Packed by the system's tar, so that the unpacking side does not test itself. */
const pack = (
  fill: (root: string) => void,
  flags: readonly string[] = ["."],
): { digest: Digest; bytes: Uint8Array } => {
  const root = join(directory, `pack-${crypto.randomUUID()}`)
  mkdirSync(root)
  fill(root)
  const packed = Bun.spawnSync(["tar", "-cPf", "-", ...flags], { cwd: root })
  if (packed.exitCode !== 0) throw new Error(packed.stderr.toString())
  const bytes = new Uint8Array(packed.stdout)
  const digest = Digest.parse(createHash("sha256").update(bytes).digest("hex"))
  archives.set(bundlePath(digest), bytes)
  return { digest, bytes }
}

const program = (root: string): void => {
  write(root, "index.js", "export {}")
  write(root, "node_modules/dep/package.json", "{}")
  mkdirSync(join(root, "node_modules/.bin"))
  symlinkSync("../dep/package.json", join(root, "node_modules/.bin/dep"))
}

const left = (): string[] => readdirSync(join(directory, "state/bundles"))

test("a bundle is fetched with the credential, unpacked, and fetched no more", async () => {
  const { digest } = pack(program)
  const first = await bundles.path(digest)
  expect(first).toEqual({ ok: true, value: join(directory, "state/bundles", digest, "index.js") })
  if (first.ok) expect(readFileSync(join(dirname(first.value), "node_modules/.bin/dep"), "utf8")).toBe("{}")
  expect(await bundles.path(digest)).toEqual(first)
  expect(await create().path(digest)).toEqual(first)
  expect(requests).toEqual([`Bearer the-credential ${bundlePath(digest)}`])
  expect(left()).toEqual([digest])
})

test("what is unpacked is for its owner alone, and what is executable stays so", async () => {
  const { digest } = pack((root) => {
    program(root)
    chmodSync(join(root, "index.js"), 0o666)
    chmodSync(join(root, "node_modules"), 0o755)
    write(root, "node_modules/dep/run", "#!/bin/sh")
    chmodSync(join(root, "node_modules/dep/run"), 0o4755)
  })
  const entry = await bundles.path(digest)
  const mode = (path: string): string =>
    (statSync(join(directory, "state/bundles", digest, path)).mode & 0o7777).toString(8)
  expect(entry.ok).toBe(true)
  expect(
    ["index.js", "node_modules", "node_modules/dep/package.json", "node_modules/dep/run"].map(mode),
  ).toEqual(["600", "700", "600", "700"])
})

test("B2 those who ask at one time share one download", async () => {
  const { digest } = pack(program)
  const results = await Promise.all(Array.from({ length: 20 }, () => bundles.path(digest)))
  expect(results.every((result) => result.ok)).toBe(true)
  expect(requests).toHaveLength(1)
})

test("bytes that are not those that were named are refused, and a good answer later is taken", async () => {
  const { digest, bytes } = pack(program)
  faults = [bytes.slice(0, bytes.length - 512), new Response(null, { status: 503 })]
  expect(await bundles.path(digest)).toMatchObject({ ok: true })
  expect(requests).toHaveLength(3)
  expect(entries.filter((entry) => entry.event === "bundle_attempt_failed")).toHaveLength(2)
})

test("a control plane that never has the right bytes is given up after five attempts", async () => {
  const { digest } = pack(program)
  faults = Array.from({ length: 9 }, () => new Uint8Array(10))
  const result = await bundles.path(digest)
  expect(result).toMatchObject({ ok: false, error: { code: "bundle_failed" } })
  expect(requests).toHaveLength(5)
  expect(left()).toEqual([])
})

test("an unknown bundle and a refused credential are final at once, and say what to do", async () => {
  const digest = Digest.parse("a".repeat(64))
  expect(await bundles.path(digest)).toMatchObject({ ok: false, error: { code: "not_found" } })
  faults = [new Response(null, { status: 401 })]
  expect(await bundles.path(digest)).toMatchObject({ ok: false, error: { code: "unauthorized" } })
  expect(requests).toHaveLength(2)
})

test("an archive that reaches outside its folder is refused and leaves nothing", async () => {
  const outside = join(directory, "outside")
  const hostile = [
    pack(program, [".", "--transform=s,^./index.js,../../escaped.js,"]),
    pack(
      (root) => {
        program(root)
        symlinkSync(directory, join(root, "link"))
      },
      ["."],
    ),
    pack((root) => {
      program(root)
      symlinkSync("../../../outside", join(root, "node_modules/up"))
    }),
    pack((root) => {
      program(root)
      Bun.spawnSync(["mkfifo", join(root, "pipe")])
    }),
  ]
  for (const { digest } of hostile)
    expect(await bundles.path(digest)).toMatchObject({ ok: false, error: { code: "bundle_failed" } })
  expect(existsSync(outside)).toBe(false)
  expect(left()).toEqual([])
})

test("what is no archive, and an archive without an entry file, are told apart from a bad connection", async () => {
  const empty = pack((root) => write(root, "other.js", ""))
  expect(await bundles.path(empty.digest)).toMatchObject({
    ok: false,
    error: { message: expect.stringContaining("no index.js") },
  })
  const bytes = new TextEncoder().encode("no archive at all ".repeat(100))
  const digest = Digest.parse(createHash("sha256").update(bytes).digest("hex"))
  archives.set(bundlePath(digest), bytes)
  expect(await bundles.path(digest)).toMatchObject({ ok: false, error: { code: "bundle_failed" } })
  expect(requests).toHaveLength(2)
})

test("B1 what an interrupted download left is cleared away and never taken for a bundle", async () => {
  const { digest } = pack(program)
  write(join(directory, "state/bundles"), "incoming-1/content/index.js", "half")
  bundles = create()
  expect(left()).toEqual([])
  expect(await bundles.path(digest)).toMatchObject({ ok: true })
})
