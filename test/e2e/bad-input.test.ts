import { afterEach, beforeEach, expect, test } from "bun:test"
import { existsSync } from "node:fs"
import { createServer } from "node:net"
import { join } from "node:path"
import { type Fixture, fixture } from "../examples/fixture.ts"
import { boundMs, computerd, eventually, type Sandbox, sandbox, startAudit } from "./sandbox.ts"

const patience = boundMs * 2

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

const program = (body: string): string =>
  `import { agent, image, template } from "@helmr/sdk"
const box = template({ id: "box", image: image("box"), resources: { cpu: 1, memory: "1GiB" } })
${body}
`

const dev = (directory: string) => place.run(computerd, "dev", directory, "--agent", "a", "--input", "hello")

/** What is said beside events and notices. */
const said = (err: string): readonly string[] =>
  err
    .split("\n")
    .filter(
      (line) =>
        line !== "" &&
        !/^\d+\.\ds |^Publishing |^computerd: .*are not limits here$|^computerd: the local driver cannot/.test(
          line,
        ),
    )

const programs: Readonly<Record<string, readonly [body: string, message: RegExp]>> = {
  "no Agents": ["export const x = 1", /^computerd: invalid_program: agents is empty/],
  "two Agents with one id": [
    `export const a = agent({ id: "a", template: box, turn: () => 1 })
export const b = agent({ id: "a", template: box, turn: () => 2 })`,
    /^computerd: invalid_program: agents\[a\]\.id is the id of two Agents/,
  ],
  "code that does not compile": ["export const a = (", /^computerd: bundle_failed: index\.ts:3:/],
  "a package that is not there": [
    `import x from "not-a-package-of-anybody"
export const a = agent({ id: "a", template: box, turn: () => x })`,
    /^computerd: bundle_failed: index\.ts:\d+:\d+: .*not-a-package-of-anybody/,
  ],
  "a throwing top level": [`throw new Error("no luck")`, /^computerd: invalid_program: .*no luck/],
  "an unknown Agent": [
    `export const b = agent({ id: "b", template: box, turn: () => 1 })`,
    /^computerd: target_not_published: .*"a"; it has b$/,
  ],
  "a throwing init": [
    `export const a = agent({ id: "a", template: box, init() { throw new Error("no luck") }, turn: () => 1 })`,
    /^computerd: session_held: .*init failed: no luck/,
  ],
  "a Template that is not honoured here": [
    `const shut = template({ id: "shut", image: image("shut"), resources: { cpu: 1, memory: "1GiB" }, network: { blockAll: true } })
export const a = agent({ id: "a", template: shut, turn: () => 1 })`,
    /^computerd: template_unsupported: .*the network of Template shut; .*--unenforced/,
  ],
  "a throwing turn": [
    `export const a = agent({ id: "a", template: box, turn() { throw new Error("no luck") } })`,
    /^computerd: the Turn ended failed: handler_failed: no luck$/,
  ],
  "a result that JSON cannot hold": [
    `export const a = agent({ id: "a", template: box, turn: () => ({ n: 1n }) as never })`,
    /^computerd: the Turn ended failed: result_not_json: /,
  ],
}

for (const [name, [body, message]] of Object.entries(programs))
  test(
    `a program with ${name} is one message and a failure`,
    async () => {
      await folder.write({ "index.ts": program(body) })
      const { exitCode, out, err } = await dev(folder.path).done
      const lines = said(err)
      expect({ exitCode, out, lines: lines.length }).toEqual({ exitCode: 1, out: "", lines: 1 })
      expect(lines[0]).toMatch(message)
      expect(await place.processes()).toEqual([])
      expect(await place.files()).toEqual([])
    },
    patience,
  )

test(
  "Ctrl-C while a program loads leaves nothing",
  async () => {
    await folder.write({ "index.ts": program("await new Promise((resolve) => setTimeout(resolve, 1e9))") })
    const run = dev(folder.path)
    await eventually("a process that loads it", async () =>
      (await place.processes()).length > 1 &&
      (await place.files()).some((file) => file.endsWith("bundle/index.js"))
        ? true
        : undefined,
    )
    run.signal("SIGINT")
    expect((await run.done).exitCode).toBe(130)
    expect(await place.processes()).toEqual([])
    expect(await place.files()).toEqual([])
  },
  patience,
)

test(
  "a directory that is missing, or is none, is named",
  async () => {
    await folder.write({ "file.txt": "" })
    const missing = join(folder.path, "missing")
    const refused = async (...command: readonly string[]) => {
      const { exitCode, out, err } = await place.run(...command).done
      return { exitCode, out, err }
    }
    expect(await refused(startAudit, missing)).toEqual({
      exitCode: 2,
      out: "",
      err: `bun start: ${missing} does not exist\n`,
    })
    expect(await refused(startAudit, join(folder.path, "file.txt"))).toMatchObject({
      exitCode: 2,
      err: `bun start: ${folder.path}/file.txt is not a directory\n`,
    })
    expect(await refused(startAudit, folder.path, "more")).toMatchObject({ exitCode: 2 })
    expect(await refused(computerd, "dev", missing, "--agent", "a", "--input", "i")).toEqual({
      exitCode: 1,
      out: "",
      err: `Publishing ${missing}\ncomputerd: invalid_program: program directory ${missing} does not exist\n`,
    })
    expect(await refused(computerd, "dev", missing, "--input", "i")).toEqual({
      exitCode: 2,
      out: "",
      err: "computerd: dev needs --agent, the id of the Agent to start\nTry computerd --help\n",
    })
  },
  patience,
)

test(
  "a busy port and a second control plane on one state directory are refused by name",
  async () => {
    const busy = createServer()
    await new Promise<void>((resolve) => busy.listen(0, "127.0.0.1", resolve))
    const address = busy.address()
    const port = typeof address === "object" && address !== null ? address.port : 0
    const state = join(place.temporary, "state")
    const controlPlane = (...more: readonly string[]) =>
      place.run(computerd, "control-plane", "--state", state, ...more)
    const refused = await controlPlane("--listen", `127.0.0.1:${port}`).done
    busy.close()
    expect(refused.exitCode).toBe(1)
    expect(refused.err).toContain(`${port}`)
    expect(existsSync(join(state, "control-plane.pid"))).toBe(false)

    const first = controlPlane()
    await first.line(/listening/)
    const second = await controlPlane().done
    expect(second.exitCode).toBe(1)
    expect(second.err).toMatch(new RegExp(`already_running: .*pid ${first.pid}`))
    first.signal("SIGTERM")
    const { exitCode, out } = await first.done
    expect(existsSync(join(state, "control-plane.pid"))).toBe(false)
    expect({ exitCode, out }).toMatchObject({
      exitCode: 0,
      out: expect.stringMatching(/^http:\/\/127\.0\.0\.1:\d+\n$/),
    })
    expect(await place.processes()).toEqual([])
  },
  patience,
)

test(
  "a supervisor's configuration that cannot be read is named, and so is a status without a supervisor",
  async () => {
    const missing = join(folder.path, "missing.json")
    const run = await place.run(computerd, "run", "--config", missing).done
    expect(run.exitCode).toBeGreaterThan(0)
    expect(run.err).toMatch(/^computerd: invalid_configuration: .*missing\.json/)
    const status = await place.run(computerd, "status", "--state", folder.path).done
    expect(status.exitCode).toBe(1)
    expect(status.err).toContain(
      `no supervisor runs here: there is no socket at ${folder.path}/operator.sock`,
    )
  },
  patience,
)
