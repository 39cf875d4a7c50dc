import { afterEach, beforeEach, expect, test } from "bun:test"
import { lstat, mkdtemp, readdir, realpath, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { runKeys } from "@computerd/computerd/fleet/keys"
import { operatorSocketName } from "@computerd/control-plane/http/messages"
import { EnvironmentKey } from "@computerd/protocol/ids"
import { sink } from "../sink.ts"

let state: string
beforeEach(async () => {
  state = await realpath(await mkdtemp(join(tmpdir(), "fleet-keys-")))
})
afterEach(() => rm(state, { recursive: true }))

const key = {
  id: "key_00000000-0000-7000-8000-000000000001",
  name: "n",
  environment: "default",
  permissions: ["sessions:read"],
  createdAt: "2026-01-01T00:00:00.000Z",
  lastUsedAt: null,
  revokedAt: null,
}
const secret = `hlm_${"0".repeat(32)}_${"1".repeat(64)}`

/** Stands for a control plane's own socket. */
const operator = (answer: () => Response) =>
  Bun.serve({ unix: join(state, operatorSocketName), fetch: answer })

const create = async (out: string | undefined) => {
  const [stdout, stderr] = [sink(), sink()]
  const environment = EnvironmentKey.parse("default")
  const work = { verb: "create", name: "n", permissions: ["sessions:read"], environment, out } as const
  const command = { verb: "fleet keys", work, state, json: false } as const
  const exitCode = await runKeys(command, { out: stdout.stream, err: stderr.stream })
  return { exitCode, out: stdout.text(), err: stderr.text() }
}

test("a key that could not be made leaves no file, so that the same command can be repeated", async () => {
  const out = join(state, "key")
  expect(await create(out)).toMatchObject({
    exitCode: 1,
    out: "",
    err: expect.stringMatching(/no control plane answers/),
  })
  expect(await readdir(state)).toEqual([])
  const refusing = operator(() =>
    Response.json({ error: { code: "store_unavailable", message: "full" } }, { status: 503 }),
  )
  try {
    expect(await create(out)).toMatchObject({
      exitCode: 1,
      out: "",
      err: expect.stringMatching(/store_unavailable: full/),
    })
    expect(await readdir(state)).toEqual([operatorSocketName])
  } finally {
    await refusing.stop(true)
  }
  const answering = operator(() => Response.json({ key, secret }))
  try {
    expect(await create(out)).toEqual({ exitCode: 0, out: `${key.id}\n`, err: "" })
    expect(await Bun.file(out).text()).toBe(`${secret}\n`)
    expect((await lstat(out)).mode & 0o777).toBe(0o600)
    expect(await create(out)).toMatchObject({ exitCode: 1, err: expect.stringMatching(/EEXIST/) })
    expect(await Bun.file(out).text()).toBe(`${secret}\n`)
  } finally {
    await answering.stop(true)
  }
})

test("the text of a key stands alone on standard output; what is said of it goes to standard error", async () => {
  const answering = operator(() => Response.json({ key, secret }))
  try {
    const { exitCode, out, err } = await create(undefined)
    expect({ exitCode, out }).toEqual({ exitCode: 0, out: `${secret}\n` })
    expect(err).toContain(key.id)
    expect(err).not.toContain(secret)
  } finally {
    await answering.stop(true)
  }
})
