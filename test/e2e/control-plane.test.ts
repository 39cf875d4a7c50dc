import { afterEach, beforeEach, expect, test } from "bun:test"
import { lstat, readdir } from "node:fs/promises"
import { join } from "node:path"
import { operatorClient } from "@computerd/control-plane/http/client"
import { type Fixture, fixture } from "../examples/fixture.ts"
import { boundMs, computerd, eventually, type Sandbox, sandbox } from "./sandbox.ts"

let place: Sandbox
let folder: Fixture

beforeEach(async () => {
  place = await sandbox()
  folder = await fixture()
})

afterEach(async () => {
  await place.remove()
  await folder.remove()
})

const text = (value: string) => [{ type: "text" as const, text: value }]

/** Whatever lies in a workspace or came from a program's own files keeps its mode. */
const isContent = (path: string): boolean => /^layers\/[^/]+\/|^computers\/[^/]+\/workspace\//.test(path)

const openToOthers = async (root: string): Promise<readonly string[]> => {
  const paths = (await readdir(root, { recursive: true })).filter((path) => !isContent(path))
  const modes = await Promise.all(
    paths.map(async (path) => {
      const entry = await lstat(join(root, path))
      const mode = entry.mode & 0o7777
      return mode === (entry.isDirectory() ? 0o700 : 0o600) ? [] : [`${mode.toString(8)} ${path}`]
    }),
  )
  return modes.flat()
}

test(
  "a control plane's files are for its owner alone, and a second signal ends it and its Computers at once",
  async () => {
    await folder.write({
      "data/file.txt": "x",
      "index.ts": `import { agent, image, source, template } from "@helmr/sdk"
const files = image("box").copy(source.directory("./data"), "/workspace").workdir("/workspace")
const box = template({ id: "box", image: files, resources: { cpu: 1, memory: "1GiB" } })
export const quick = agent({ id: "quick", template: box, turn: () => 1 })
export const stubborn = agent({ id: "stubborn", template: box, turn: () => new Promise(() => undefined) })
`,
    })
    const state = join(place.temporary, "state")
    const plane = place.run(computerd, "control-plane", "--state", state)
    const client = operatorClient(state)
    await eventually("an operator socket", async () => ((await client.snapshot()).ok ? true : undefined))
    expect(await client.publish({ directory: folder.path })).toMatchObject({ ok: true })
    const start = async (agent: string) => {
      const started = await client.startSession({ agent, input: text("x"), idempotencyKey: agent })
      if (!started.ok) throw new Error(started.error.message)
      return started.value
    }
    const quick = await start("quick")
    const { turnId, sessionId } = await start("stubborn")
    await eventually("the end of a Turn", async () => {
      const turn = await client.turn(quick.sessionId, quick.turnId, 1_000)
      return turn.ok && turn.value.status === "completed" ? true : undefined
    })
    await eventually("a running Turn", async () => {
      const turn = await client.turn(sessionId, turnId)
      return turn.ok && turn.value.status === "running" ? true : undefined
    })
    expect(await openToOthers(state)).toEqual([])

    plane.signal("SIGTERM")
    await plane.line(/^computerd: ending; interrupt again to end at once$/)
    plane.signal("SIGTERM")
    expect((await plane.done).exitCode).toBe(143)
    expect(await place.processes()).toEqual([])
  },
  boundMs * 2,
)
