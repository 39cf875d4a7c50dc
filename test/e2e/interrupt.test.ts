import { afterEach, beforeEach, expect, test } from "bun:test"
import { type Fixture, repository } from "../examples/fixture.ts"
import { boundMs, eventually, type Run, type Sandbox, sandbox, startAudit } from "./sandbox.ts"

const patience = boundMs * 2

let place: Sandbox
let repo: Fixture

beforeEach(async () => {
  place = await sandbox()
  repo = await repository()
  await repo.write({ "a/x.ts": "1\n", "b/x.ts": "1\n", "c/x.ts": "1\n", "d/x.ts": "1\n" })
  await repo.commit("one")
})

afterEach(async () => {
  await place.remove()
  await repo.remove()
})

const fileNamed = (name: RegExp) => async (): Promise<true | undefined> =>
  (await place.files()).some((file) => name.test(file)) ? true : undefined

const moments: Readonly<Record<string, (run: Run) => Promise<unknown>>> = {
  "while it prepares": () => eventually("a state directory", fileNamed(/^computerd-/)),
  "while it publishes": () => eventually("a control plane", fileNamed(/control-plane\.sqlite$/)),
  "while a Computer starts": (run) => run.line(/Computer cmp_\S+: starting/),
  "while auditors run": (run) => run.line(/Session ses_\S+ auditor: process ready/),
}

for (const [moment, reached] of Object.entries(moments))
  test(
    `Ctrl-C ${moment} leaves nothing`,
    async () => {
      const run = place.run(startAudit, repo.path)
      await reached(run)
      run.signal("SIGINT")
      const { exitCode, out } = await run.done
      expect({ exitCode, out }).toEqual({ exitCode: 130, out: "" })
      expect(await place.processes()).toEqual([])
      expect(await place.files()).toEqual([])
    },
    patience,
  )

test(
  "a second signal ends everything at once and still leaves nothing",
  async () => {
    const run = place.run(startAudit, repo.path)
    await run.line(/Session ses_\S+ auditor: process ready/)
    run.signal("SIGTERM")
    // Of two signals that wait the kernel delivers the one with the lower number first.
    await run.line(/^computerd: ending/)
    run.signal("SIGHUP")
    expect((await run.done).exitCode).toBe(143)
    expect(await place.processes()).toEqual([])
    expect(await place.files()).toEqual([])
  },
  patience,
)

test(
  "when what started the command dies without a word to it, everything ends in order",
  async () => {
    // As a package runner and the shells below it do.
    const launcher = `await Bun.spawn([process.execPath, ${JSON.stringify(startAudit)}, ${JSON.stringify(repo.path)}],
      { stdout: "inherit", stderr: "inherit" }).exited`
    const run = place.run("-e", launcher)
    await run.line(/Session ses_\S+ auditor: process ready/)
    run.signal("SIGKILL")
    const { err } = await run.done
    expect(err).toContain("computerd: ending; interrupt again to end at once\n")
    await eventually("the end of every process", async () =>
      (await place.processes()).length === 0 ? true : undefined,
    )
    expect(await place.files()).toEqual([])
  },
  patience,
)

test(
  "when the command is killed, its Computers end by themselves",
  async () => {
    const run = place.run(startAudit, repo.path)
    await run.line(/Session ses_\S+ auditor: process ready/)
    run.signal("SIGKILL")
    await run.done
    await eventually("the end of every process", async () =>
      (await place.processes()).length === 0 ? true : undefined,
    )
  },
  patience,
)
