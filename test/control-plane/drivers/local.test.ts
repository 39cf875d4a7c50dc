import { afterEach, beforeEach, describe, expect, setDefaultTimeout, test } from "bun:test"
import { cp, readdir, readFile, rename, stat } from "node:fs/promises"
import { join } from "node:path"
import { groupsOf } from "@computerd/control-plane/drivers/local/group"
import { SupervisorConfiguration } from "@computerd/protocol/configuration"
import { program, writeTree } from "../publication/rig.ts"
import {
  alive,
  createRig,
  dead,
  processesOf,
  programs,
  publish,
  type Rig,
  settled,
  start,
  until,
} from "./rig.ts"

/** Whole processes on a machine that may be busy; each wait inside has a bound of its own. */
setDefaultTimeout(40_000)

let rig: Rig
beforeEach(async () => {
  rig = await createRig()
})
afterEach(() => rig.close())

interface Echoed {
  readonly pid: number
  readonly parent: number
  readonly workspace: string
  readonly files: readonly string[]
  readonly greeting: string
  readonly computerId: string
}

test("each Session gets a Computer of its own: supervisor, workspace, ports; and nothing is left at the end", async () => {
  const plane = await rig.open()
  const source = join(rig.root, "echo")
  await cp(join(programs, "echo"), source, { recursive: true })
  const { notices } = await publish(plane, source)
  expect(notices).toEqual(["cpu and memory of Templates are not limits here"])
  await rename(source, `${source}-gone`)
  const turns = [start(plane, "echo", "one"), start(plane, "echo", "two"), start(plane, "echo", "three")]
  const views = await Promise.all(turns.map((turn) => settled(plane, turn)))
  expect(views.map((view) => [view.status, view.response?.[0]?.text])).toEqual([
    ["completed", "one"],
    ["completed", "two"],
    ["completed", "three"],
  ])
  const seen = views.map((view) => view.result as unknown as Echoed)
  for (const key of ["pid", "parent", "workspace", "computerId"] as const)
    expect([key, new Set(seen.map((one) => one[key])).size]).toEqual([key, 3])
  expect(seen.map((one) => [one.files, one.greeting])).toEqual(seen.map(() => [["greeting.txt"], "hello\n"]))

  const configurations = await Promise.all(
    turns.map(async ({ computerId }) =>
      SupervisorConfiguration.parse(await Bun.file(join(rig.computer(computerId), "supervisor.json")).json()),
    ),
  )
  const [low = 0, high = 0] = (await readFile("/proc/sys/net/ipv4/ip_local_port_range", "utf8"))
    .split(/\s+/)
    .map(Number)
  const ranges = configurations
    .map((configuration) => configuration.ports)
    .toSorted((a, b) => a.first - b.first)
  for (const [index, range] of ranges.entries()) {
    expect(range.last < low || range.first > high).toBe(true)
    if (index > 0) expect(range.first).toBeGreaterThan(ranges[index - 1]!.last)
  }
  for (const { computerId } of turns) {
    expect((await stat(rig.computer(computerId))).mode & 0o777).toBe(0o700)
    for (const name of ["credential", "supervisor.json", "process.json", "supervisor.log"])
      expect([name, (await stat(join(rig.computer(computerId), name))).mode & 0o777]).toEqual([name, 0o600])
  }
  expect(await processesOf(rig.stateDirectory)).not.toEqual([])
  expect(await plane.close()).toEqual([])
  expect(await processesOf(rig.stateDirectory)).toEqual([])
})

test("a Computer's credential is in no log, journal entry, snapshot or command line", async () => {
  const plane = await rig.open()
  await publish(plane, join(programs, "echo"))
  const turn = start(plane, "echo")
  await settled(plane, turn)
  const directory = rig.computer(turn.computerId)
  const credential = (await readFile(join(directory, "credential"), "utf8")).trim()
  expect(credential.length).toBeGreaterThan(40)
  const pid = await rig.supervisorPid(turn.computerId)
  const places = [
    await readFile(join(directory, "supervisor.log"), "utf8"),
    await readFile(join(directory, "supervisor.json"), "utf8"),
    await readFile(`/proc/${pid}/cmdline`, "utf8"),
    await readFile(`/proc/${pid}/environ`, "utf8"),
    JSON.stringify(rig.journal),
    JSON.stringify(plane.snapshot()),
  ]
  expect(places.map((place) => place.includes(credential))).toEqual(places.map(() => false))
})

test("C2 a supervisor that is killed again and again is started again each time, and its Turn goes on", async () => {
  const plane = await rig.open()
  await publish(plane, join(programs, "gate"))
  const file = join(rig.root, "open")
  const turn = start(plane, "gate", file)
  const workspace = join(rig.computer(turn.computerId), "workspace")
  const session = await until("the Session process", async () => {
    const said = await readFile(join(workspace, "session.pid"), "utf8").catch(() => "")
    return Number(said) || undefined
  })
  for (let kill = 1; kill <= 3; kill += 1) {
    const supervisor = await rig.supervisorPid(turn.computerId)
    process.kill(supervisor, "SIGKILL")
    await until("the next supervisor", async () =>
      (await rig.supervisorPid(turn.computerId)) === supervisor ? undefined : true,
    )
  }
  await Bun.write(file, "")
  expect(await settled(plane, turn)).toMatchObject({ status: "completed", result: session })
  // One that is killed before it has attached is a start that failed.
  const restarts = rig.journal.filter(
    (event) => event.type === "driver" && ["restarting", "start_failed"].includes(event.action),
  )
  expect(restarts).toHaveLength(3)
  expect(rig.journal.some((event) => event.type === "driver" && event.action === "lost")).toBe(false)
})

test("C2 a supervisor that cannot be started for a while is brought back, and its Turn goes on", async () => {
  const plane = await rig.open({ local: { lifeline: false } })
  await publish(plane, join(programs, "gate"))
  const file = join(rig.root, "later")
  const turn = start(plane, "gate", file)
  const workspace = join(rig.computer(turn.computerId), "workspace")
  const session = await until("the Session process", async () => {
    const said = await readFile(join(workspace, "session.pid"), "utf8").catch(() => "")
    return Number(said) || undefined
  })
  const spoiled = rig.spoilStore(turn.computerId)
  process.kill(await rig.supervisorPid(turn.computerId), "SIGKILL")
  const failures = () =>
    rig.journal.filter((event) => event.type === "driver" && event.action === "start_failed").length
  await until("five starts that fail", () => (failures() < 5 ? undefined : true))
  spoiled.mend()
  await Bun.write(file, "")
  expect(await settled(plane, turn)).toMatchObject({ status: "completed", result: session })
})

test("C2 a supervisor that cannot be brought back is reported once everything it ran is gone; others go on", async () => {
  const plane = await rig.open()
  await publish(plane, join(programs, "resident"))
  const lost = start(plane, "resident")
  const other = start(plane, "resident")
  const pidFile = (turn: typeof lost, name: string) => join(rig.computer(turn.computerId), "workspace", name)
  const pidIn = (turn: typeof lost, name: string) =>
    until(name, async () => Number(await readFile(pidFile(turn, name), "utf8").catch(() => "")) || undefined)
  const session = await pidIn(lost, "session.pid")
  const escaped = await pidIn(lost, "escaped.pid")
  const unmarked = await pidIn(lost, "unmarked.pid")
  const survivor = await pidIn(other, "session.pid")
  const supervisor = await rig.supervisorPid(lost.computerId)
  let livedAtReport = -1
  plane.onEvent((event) => {
    if (event.type === "turn_changed" && event.turnId === lost.turnId && event.status === "interrupted")
      void Promise.all([alive(session), alive(escaped)]).then((states) => {
        livedAtReport = states.filter((state) => state).length
      })
  })

  rig.spoilStore(lost.computerId)
  process.kill(supervisor, "SIGKILL")
  const view = await settled(plane, lost)
  expect(view).toMatchObject({ status: "interrupted", error: { code: "process_lost" } })
  await until("the look at the report", () => (livedAtReport === -1 ? undefined : true))
  expect(livedAtReport).toBe(0)

  // Without a control group nothing tells whose it is.
  const log = await readFile(join(rig.computer(lost.computerId), "supervisor.log"), "utf8")
  if (log.includes('"isolation":"cgroup"')) expect(await alive(unmarked)).toBe(false)
  else process.kill(unmarked, "SIGKILL")
  expect(await groupsOf(lost.computerId)).toEqual([])

  expect(await alive(survivor)).toBe(true)
  expect(plane.turn(other.sessionId, other.turnId)?.status).toBe("running")
  const row = () => plane.snapshot().computers.find((computer) => computer.id === lost.computerId)
  expect(row()).toMatchObject({ residency: "unavailable", error: expect.stringContaining("SIGKILL") })

  // C3
  await plane.close()
  const again = await rig.open()
  expect(again.turn(lost.sessionId, lost.turnId)?.status).toBe("interrupted")
  expect(again.snapshot().computers.find((computer) => computer.id === lost.computerId)?.residency).toBe(
    "unavailable",
  )
  const record = await Bun.file(join(rig.computer(lost.computerId), "process.json")).json()
  expect(record.state).toBe("lost")
})

describe("what cannot be started", () => {
  const row = (plane: Awaited<ReturnType<Rig["open"]>>) => plane.snapshot().computers[0]!

  test("R255 a command that does not exist leaves the Turn queued with the reason; a right one runs it later", async () => {
    const plane = await rig.open({ supervisorCommand: [join(rig.root, "no-such-command")] })
    await publish(plane, join(programs, "echo"))
    const turn = start(plane, "echo")
    const reason = await until("a reason", () => row(plane).error ?? undefined)
    expect(reason).toContain("no-such-command")
    expect(row(plane).residency).toBe("unavailable")
    expect(plane.turn(turn.sessionId, turn.turnId)).toMatchObject({
      status: "queued",
      waitingFor: expect.stringContaining("no-such-command"),
    })
    await plane.close()
    const again = await rig.open()
    expect((await settled(again, turn)).status).toBe("completed")
  })

  test("a supervisor that exits at once is retried, and what it said last is the reason", async () => {
    const plane = await rig.open({
      supervisorCommand: ["sh", "-c", "echo started >&2; echo no luck today >&2; exit 3", "sh"],
    })
    await publish(plane, join(programs, "echo"))
    start(plane, "echo")
    const reason = await until("a reason", () => row(plane).error ?? undefined)
    expect(reason).toBe("supervisor exited with code 3: no luck today")
    await until("a second start", () =>
      rig.journal.filter((event) => event.type === "driver" && event.action === "start_failed").length > 1
        ? true
        : undefined,
    )
  })

  test("a workspace that cannot be made is the reason, and closing does not wait for the retries", async () => {
    const plane = await rig.open()
    const source = join(rig.root, "clash")
    const image =
      'image("x").copy(source.directory("one"), "/w").copy(source.directory("two"), "/w/name").workdir("/w")'
    await writeTree(source, { "index.ts": program({ image }), "one/name": "a file", "two/inner": "x" })
    await publish(plane, source)
    start(plane, "a")
    expect(await until("a reason", () => row(plane).error ?? undefined)).toContain("needs a directory")
    const before = performance.now()
    await plane.close()
    expect(performance.now() - before).toBeLessThan(2_000)
  })

  test("R255 a Template whose policy is not enforced here stays pending; with unenforced it runs and says so", async () => {
    const source = join(rig.root, "policy")
    await writeTree(source, { "index.ts": program({ template: "network: { blockAll: true }," }) })
    const plane = await rig.open()
    const { notices } = await publish(plane, source)
    expect(notices.some((notice) => notice.includes("cannot enforce the network"))).toBe(true)
    const turn = start(plane, "a")
    expect(await until("a reason", () => row(plane).error ?? undefined)).toContain(
      "cannot enforce the network of Template t",
    )
    expect(plane.turn(turn.sessionId, turn.turnId)?.status).toBe("queued")
    expect(await readdir(join(rig.stateDirectory, "computers")).catch(() => [])).toEqual([])
    await plane.close()
    const open = await rig.open({ unenforced: true })
    expect((await settled(open, turn)).status).toBe("completed")
    const again = await publish(open, source)
    expect(again.notices).toContain("the network of Template t is not enforced, as asked")
  })
})

describe("closing", () => {
  test("a supervisor that is starting is ended with the control plane", async () => {
    const plane = await rig.open({ supervisorCommand: ["sh", "-c", "sleep 303", rig.stateDirectory] })
    await publish(plane, join(programs, "echo"))
    const { computerId } = start(plane, "echo")
    const pid = await rig.supervisorPid(computerId)
    expect(await plane.close()).toEqual([])
    expect(await alive(pid)).toBe(false)
    expect(await processesOf(rig.stateDirectory)).toEqual([])
  })

  test("a publication that is under way is given up, and nothing of it is left", async () => {
    const plane = await rig.open()
    const source = join(rig.root, "endless")
    const mark = join(rig.root, "loading")
    const index = `await Bun.write(${JSON.stringify(mark)}, "")\nawait new Promise(() => setInterval(() => {}, 1000))`
    await writeTree(source, { "index.ts": index })
    const published = plane.publish(source)
    await until("the program to load", async () => ((await Bun.file(mark).exists()) ? true : undefined))
    expect(await plane.close()).toEqual([])
    expect(await published).toMatchObject({ ok: false, error: { code: "interrupted" } })
    expect(await processesOf(rig.stateDirectory)).toEqual([])
    expect(await readdir(join(rig.stateDirectory, "staging"))).toEqual([])
    expect(await plane.publish(source)).toMatchObject({ ok: false, error: { code: "interrupted" } })
  })
})

test("a Computer that nobody uses is removed with its directory", async () => {
  const source = join(rig.root, "unused")
  await writeTree(source, { "index.ts": program({ template: "deleteAfterUnused: 20," }) })
  const plane = await rig.open()
  await publish(plane, source)
  const turn = start(plane, "a")
  await settled(plane, turn)
  const pid = await rig.supervisorPid(turn.computerId)
  plane.control({ kind: "close", sessionId: turn.sessionId })
  await dead(pid)
  await until("the removal", async () =>
    (await stat(rig.computer(turn.computerId)).catch(() => undefined)) === undefined ? true : undefined,
  )
  await until("the report", () =>
    plane.snapshot().computers.some((computer) => computer.id === turn.computerId) ? undefined : true,
  )
})

test("a control plane that is closed and opened again goes on with its Sessions on the same Computers", async () => {
  const plane = await rig.open()
  await publish(plane, join(programs, "echo"))
  const turn = start(plane, "echo")
  const first = (await settled(plane, turn)).result as unknown as Echoed
  await Bun.write(join(first.workspace, "kept.txt"), "kept")
  await plane.close()
  const again = await rig.open()
  expect(again.url).toBe(plane.url)
  const row = () => again.snapshot().computers.find((computer) => computer.id === turn.computerId)
  await until("the attachment", () => (row()?.attached ? true : undefined))
  expect(await readFile(join(first.workspace, "kept.txt"), "utf8")).toBe("kept")
})
