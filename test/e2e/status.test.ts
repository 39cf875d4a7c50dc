import { afterEach, beforeEach, expect, test } from "bun:test"
import { readdir } from "node:fs/promises"
import { join } from "node:path"
import { Status } from "@computerd/protocol/operator"
import { type Fixture, fixture } from "../examples/fixture.ts"
import { boundMs, computerd, eventually, type Sandbox, sandbox, supervisors } from "./sandbox.ts"

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

test(
  "status shows a running Computer, its lease, link, Session and Turn, readable and as JSON",
  async () => {
    await folder.write({
      "index.ts": `import { agent, image, template } from "@helmr/sdk"
const box = template({ id: "box", image: image("box"), resources: { cpu: 1, memory: "1GiB" } })
export const sleeper = agent({
  id: "sleeper",
  template: box,
  turn: (turn) => new Promise((resolve) => turn.onCancel(() => resolve(null))),
})
`,
    })
    const run = place.run(computerd, "dev", folder.path, "--agent", "sleeper", "--input", "zzz")
    await run.line(/Turn trn_\S+ of Session ses_\S+: running/)
    const [supervisor] = await supervisors(place)
    const state = supervisor?.stateDirectory ?? ""
    const status = await eventually("a running Turn", async () => {
      const { out } = await place.run(computerd, "status", "--state", state, "--json").done
      const seen = Status.parse(JSON.parse(out))
      return seen.sessions[0]?.state === "running" ? seen : undefined
    })
    expect(status).toMatchObject({
      pid: supervisor?.pid,
      computer: { id: supervisor?.computerId },
      link: { state: "attached" },
      lease: { state: "held" },
      sessions: [{ agent: "sleeper", generation: 1, mcpPort: null, turnId: expect.stringMatching(/^trn_/) }],
    })
    const readable = await place.run(computerd, "status", "--state", state).done
    expect(readable.exitCode).toBe(0)
    for (const shown of [supervisor?.computerId ?? "-", "sleeper", "running", "attached", "held, epoch 1"])
      expect(readable.out).toContain(shown)
    const fleet = join(place.temporary, (await readdir(place.temporary))[0] ?? "")
    const all = await place.run(computerd, "status", "--state", fleet).done
    expect(all.out).toMatch(
      /^Computer cmp_\S+ box: running\n {2}Session ses_\S+ sleeper: process ready, generation 1\n {4}Turn /,
    )
    run.signal("SIGINT")
    expect((await run.done).exitCode).toBe(130)
    expect(await place.files()).toEqual([])
  },
  boundMs * 2,
)
