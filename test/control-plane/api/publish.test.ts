import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test"
import { cp, mkdir, mkdtemp, readdir, rm, symlink, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import type { ControlPlane } from "@computerd/control-plane/control-plane"
import { operatorClient } from "@computerd/control-plane/http/client"
import { create } from "tar"
import { createRig, programs, type Rig } from "../drivers/rig.ts"
import { freshKey, text } from "../rig.ts"
import { answerOf } from "./rig.ts"

setDefaultTimeout(60_000)

let rig: Rig
let plane: ControlPlane
let work: string
let key: string
beforeAll(async () => {
  rig = await createRig()
  plane = await rig.open({
    api: {
      listen: { hostname: "127.0.0.1", port: 0, behindProxy: false },
      settings: { uploadMaxBytes: 4_000_000, unpackedMaxBytes: 1_000_000, archiveEntriesMax: 20 },
    },
  })
  work = await mkdtemp(join(tmpdir(), "upload-"))
  const made = await operatorClient(rig.stateDirectory).createKey({
    name: "publisher",
    permissions: ["deployments:write", "deployments:read", "sessions:write", "sessions:read"],
  })
  if (!made.ok) throw new Error(made.error.message)
  key = made.value.secret
})
afterAll(async () => {
  await rig.close()
  await rm(work, { recursive: true })
})

const ask = async (path: string, init: RequestInit = {}) =>
  answerOf(
    await fetch(`${plane.apiUrl}${path}`, {
      ...init,
      headers: { Authorization: `Bearer ${key}`, ...init.headers },
    }),
  )

const upload = (archive: Uint8Array | ReadableStream<Uint8Array>, idempotencyKey = freshKey()) =>
  ask(`/v1/deployments?idempotencyKey=${idempotencyKey}`, {
    method: "POST",
    headers: { "Content-Type": "application/x-tar" },
    body: archive,
  })

const archiveOf = async (directory: string, options: { gzip?: boolean; preservePaths?: boolean } = {}) => {
  const file = join(work, `${freshKey()}.tar`)
  await create({ file, cwd: directory, portable: true, ...options }, await readdir(directory))
  return new Uint8Array(await Bun.file(file).arrayBuffer())
}

const echo = () => archiveOf(join(programs, "echo"))

/** A program of its own, from the echo program and what `change` does to it. */
const programWith = async (change: (directory: string) => Promise<unknown>): Promise<string> => {
  const directory = join(work, freshKey())
  await cp(join(programs, "echo"), directory, { recursive: true })
  await change(directory)
  return directory
}

const currentId = async () => (await ask("/v1/deployments/current")).body.id

test("an uploaded program is published, runs, and the same upload under the same key is answered alike", async () => {
  const archive = await echo()
  const idempotencyKey = freshKey()
  const published = await upload(archive, idempotencyKey)
  expect([published.status, published.body.notices]).toEqual([
    201,
    ["cpu and memory of Templates are not limits here"],
  ])
  const started = await ask("/v1/sessions", {
    method: "POST",
    body: JSON.stringify({ agent: "echo", input: text("through the API"), idempotencyKey: freshKey() }),
  })
  const { sessionId, turnId } = started.body
  const waited = await ask(`/v1/sessions/${sessionId}/turns/${turnId}/wait?timeoutMs=30000`)
  expect(waited.body).toMatchObject({ status: "settled", outcome: { response: text("through the API") } })

  const again = await upload(archive, idempotencyKey)
  expect([again.status, again.text]).toEqual([201, published.text])
  expect((await ask("/v1/deployments")).body.deployments).toHaveLength(1)
  const another = await archiveOf(await programWith((at) => writeFile(join(at, "more.txt"), "more")))
  const conflict = await upload(another, idempotencyKey)
  expect([conflict.status, conflict.body.error.code]).toEqual([409, "idempotency_conflict"])
})

test("two publications at once are both published, whole, and one of them is current", async () => {
  const before = (await ask("/v1/deployments")).body.deployments.length
  const [one, two] = await Promise.all([upload(await echo()), upload(await echo())])
  expect([one.status, two.status]).toEqual([201, 201])
  expect(one.body.deploymentId).not.toBe(two.body.deploymentId)
  expect([one.body.deploymentId, two.body.deploymentId]).toContain(await currentId())
  expect((await ask("/v1/deployments")).body.deployments).toHaveLength(before + 2)
})

test("one upload that is sent twice at once under one key makes one Deployment", async () => {
  const archive = await echo()
  const before = (await ask("/v1/deployments")).body.deployments.length
  const idempotencyKey = freshKey()
  const [one, two] = await Promise.all([upload(archive, idempotencyKey), upload(archive, idempotencyKey)])
  expect([one.status, two.text]).toEqual([201, one.text])
  expect((await ask("/v1/deployments")).body.deployments).toHaveLength(before + 1)
})

test("R254 a program that fails validation is refused with a safe path, and nothing is half published", async () => {
  await upload(await echo())
  const before = await currentId()
  const broken = await programWith(async (at) => {
    const source = await Bun.file(join(at, "index.ts")).text()
    const policy = 'runtimeMcp: { allow: [{ operation: "spawn", agents: ["sk-secret-agent"] }] },'
    await writeFile(join(at, "index.ts"), source.replace("agent({", `agent({ ${policy}`))
  })
  const refused = await upload(await archiveOf(broken))
  expect(refused.status).toBe(422)
  expect(refused.body.error).toMatchObject({
    code: "invalid_runtime_mcp_policy",
    field: "agents[echo].runtimeMcp.allow[0].agents[0]",
  })
  expect(refused.text).not.toContain("sk-secret-agent")
  expect(await currentId()).toBe(before)
  expect(await readdir(join(rig.stateDirectory, "staging"))).toEqual([])
})

test("an uploaded program reads nothing outside of its own directory", async () => {
  const source = await Bun.file(join(programs, "echo", "index.ts")).text()
  expect(source).toContain('"files"')
  const outside = await programWith((at) =>
    writeFile(join(at, "index.ts"), source.replace('"files"', '"/etc"')),
  )
  const refused = await upload(await archiveOf(outside))
  expect([refused.status, refused.body.error.code]).toEqual([422, "invalid_program"])
  expect(refused.body.error.message).not.toContain(rig.root)
})

/** A header by hand: what no well-behaved writer makes. */
const entry = (path: string, type: string, link = ""): Uint8Array => {
  const header = Buffer.alloc(512)
  header.write(path, 0)
  header.write("0000644\0", 100)
  header.write("00000000000\0", 124)
  header.write("00000000000\0", 136)
  header.write("        ", 148)
  header.write(type, 156)
  header.write(link, 157)
  header.write("ustar\u000000", 257)
  const sum = header.reduce((total, byte) => total + byte, 0)
  header.write(`${sum.toString(8).padStart(6, "0")}\0 `, 148)
  return Buffer.concat([header, Buffer.alloc(1024)])
}

describe("an archive is refused whole", () => {
  const cases: readonly (readonly [string, () => Promise<Uint8Array> | Uint8Array])[] = [
    ["that is empty", () => new Uint8Array(10_240)],
    ["that is no archive", () => new TextEncoder().encode("x".repeat(2_000))],
    ["that is cut short", async () => (await echo()).slice(0, 700)],
    ["that is compressed", () => archiveOf(join(programs, "echo"), { gzip: true })],
    ["with an absolute path", () => entry("/etc/evil", "0")],
    ["with a path that leads out", () => entry("files/../../evil", "0")],
    ["with a symbolic link", () => entry("link", "2", "/etc/passwd")],
    ["with a hard link", () => entry("link", "1", "/etc/passwd")],
    ["with a device", () => entry("device", "3")],
    ["with a link among good files", () => archiveOf(join(work, "linked"))],
    ["with too many entries", () => archiveOf(join(work, "many"))],
    ["with too many bytes", () => archiveOf(join(work, "large"))],
  ]
  beforeAll(async () => {
    for (const name of ["linked", "many", "large"]) await mkdir(join(work, name))
    await symlink("/etc/passwd", join(work, "linked", "link"))
    await writeFile(join(work, "linked", "index.ts"), "")
    for (let count = 0; count < 30; count += 1) await writeFile(join(work, "many", `${count}`), "")
    await writeFile(join(work, "large", "file"), "x".repeat(1_100_000))
  })

  test.each(cases)("%s", async (_, archive) => {
    const before = await currentId()
    const refused = await upload(await archive())
    expect([refused.status, refused.body.error.code, refused.body.error.field]).toEqual([
      422,
      "invalid_program",
      "archive",
    ])
    expect(await currentId()).toBe(before)
    expect(await readdir(join(rig.stateDirectory, "staging"))).toEqual([])
  })
})

test("an upload beyond its bound is refused, and one of another type", async () => {
  const large = await upload(new Uint8Array(4_100_000))
  expect([large.status, large.body.error.code]).toEqual([413, "request_too_large"])
  const typed = await ask(`/v1/deployments?idempotencyKey=${freshKey()}`, { method: "POST", body: "{}" })
  expect([typed.status, typed.body.error.field]).toEqual([400, "content-type"])
})

test("operators make, list and revoke keys over their socket", async () => {
  const operator = operatorClient(rig.stateDirectory)
  const made = await operator.createKey({ name: "short-lived", permissions: ["sessions:read"] })
  if (!made.ok) throw new Error(made.error.message)
  const read = () =>
    fetch(`${plane.apiUrl}/v1/sessions`, { headers: { Authorization: `Bearer ${made.value.secret}` } })
  expect((await read()).status).toBe(200)
  const listed = await operator.keys()
  expect(JSON.stringify(listed)).not.toContain(made.value.secret)
  expect(listed).toMatchObject({
    ok: true,
    value: { keys: expect.arrayContaining([expect.objectContaining({ name: "short-lived" })]) },
  })
  expect(await operator.revokeKey(made.value.key.id)).toMatchObject({
    ok: true,
    value: { key: { id: made.value.key.id, revokedAt: expect.any(String) } },
  })
  expect((await read()).status).toBe(401)
  const absent = await operator.createKey({ name: "x", permissions: [] })
  expect(absent).toMatchObject({ ok: false, error: { code: "invalid_arguments", field: "permissions" } })
})
