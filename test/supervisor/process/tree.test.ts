import { afterEach, beforeEach, expect, test } from "bun:test"
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, utimesSync } from "node:fs"
import { join } from "node:path"
import { SessionBootstrap } from "@computerd/protocol/channel"
import type { ExitReason } from "@computerd/protocol/link"
import { createJournal, type JournalEntry } from "@computerd/supervisor/journal"
import { chooseIsolation, makeGroup, removeGroup } from "@computerd/supervisor/process/cgroup"
import { sessionMarker } from "@computerd/supervisor/process/environment"
import { createLogs, type Logs } from "@computerd/supervisor/process/logs"
import { listPids, readBootId, readEnviron, readStat } from "@computerd/supervisor/process/procfs"
import { type SpawnedProcess, spawnProcess } from "@computerd/supervisor/process/spawn"
import { killTree, membersOfTree, type Tree } from "@computerd/supervisor/process/tree"
import { ports, settled, temporaryDirectory } from "../harness.ts"

let directory: string
let logs: Logs
let entries: JournalEntry[]
const trees: Tree[] = []
const { PATH = "" } = process.env

beforeEach(() => {
  directory = temporaryDirectory()
  entries = []
  const journal = createJournal(ports.clock, [(entry) => entries.push(entry)])
  logs = createLogs({
    directory: join(directory, "logs"),
    ports,
    journal,
    keeps: (folder) => folder === "kept",
    maxBytes: 64 * 1024,
    checkEveryMs: 5,
  })
})
afterEach(async () => {
  for (const tree of trees.splice(0)) await killTree(ports, tree, 2000)
  logs.close()
  rmSync(directory, { recursive: true, force: true })
})

interface Started {
  readonly child: SpawnedProcess
  readonly tree: Tree
  readonly identity: { sessionId: SessionBootstrap["sessionId"]; generation: SessionBootstrap["generation"] }
  readonly stdout: string
}

const start = (script: string, cgroup?: string): Started => {
  const bootstrap = SessionBootstrap.parse({
    channelUrl: "ws://127.0.0.1:1",
    secret: "s",
    sessionId: ports.newId("ses"),
    generation: 1,
    bundlePath: "/nowhere",
    agent: "a",
  })
  const identity = { sessionId: bootstrap.sessionId, generation: bootstrap.generation }
  const child = spawnProcess({
    timers: ports.timers,
    command: ["/bin/sh", "-c", script],
    workingDirectory: directory,
    environment: { PATH, HELMR_SESSION_ID: bootstrap.sessionId },
    cgroup,
    output: logs.open(identity),
    bootstrap,
    bootId: readBootId(),
  })
  if (!child.ok) throw new Error(child.error.message)
  const tree: Tree = { root: child.value.stamp, marker: sessionMarker(bootstrap.sessionId), cgroup }
  trees.push(tree)
  return { child: child.value, tree, identity, stdout: join(logs.folder(bootstrap.sessionId), "stdout.log") }
}

const marked = (tree: Tree): readonly number[] =>
  listPids().filter((pid) => readEnviron(pid)?.includes(tree.marker) && readStat(pid)?.state !== "Z")

const said = (started: Started): string =>
  existsSync(started.stdout) ? readFileSync(started.stdout, "utf8") : ""

test("0.8 an exit is known although a grandchild holds the output open", async () => {
  const { child } = start("sleep 600 & exit 3")
  const within = await Promise.race([child.exited, Bun.sleep(2000)])
  expect(within as ExitReason).toEqual({ kind: "code", code: 3 })
})

test("an exit with code 137 is told from a kill", async () => {
  expect(await start("exit 137").child.exited).toEqual({ kind: "code", code: 137 })
  const killed = start("sleep 600")
  process.kill(killed.child.stamp.pid, "SIGKILL")
  expect(await killed.child.exited).toEqual({ kind: "signal", signal: "SIGKILL" })
})

test("the bootstrap is the one line on standard input, and neither argument nor variable", async () => {
  const started = start("cat; tr '\\0' '\\n' < /proc/$$/environ | sort; cat /proc/$$/cmdline")
  await started.child.exited
  const [line, ...rest] = said(started).split("\n")
  expect(SessionBootstrap.parse(JSON.parse(line!)).secret).toBe("s")
  expect(rest.join("\n")).not.toContain("channelUrl")
  expect(rest.filter((each) => each.includes("=")).map((each) => each.split("=")[0])).toEqual([
    "HELMR_SESSION_ID",
    "PATH",
  ])
})

test("a child leads a session and a group of its own", async () => {
  const { child } = start("sleep 600")
  const stat = readStat(child.stamp.pid)
  expect(stat).toMatchObject({ group: child.stamp.pid, session: child.stamp.pid })
})

test("a command that does not exist is an answer that names it", () => {
  const identity = { sessionId: ports.newId("ses"), generation: 1 as never }
  const result = spawnProcess({
    timers: ports.timers,
    command: ["/no/such/program"],
    workingDirectory: directory,
    environment: {},
    cgroup: undefined,
    output: logs.open(identity),
    bootstrap: {} as never,
    bootId: "",
  })
  expect(result.ok).toBe(false)
  if (!result.ok) expect(result.error.message).toContain("/no/such/program")
})

const forest =
  "setsid sleep 600 & (setsid sh -c 'sleep 600 & sleep 600') & sleep 600 & env -i sleep 600 & echo up; wait"

test("without a control group the whole tree is killed, setsid escapees and cleaned environments included", async () => {
  const started = start(forest)
  await settled(() => said(started).includes("up") && membersOfTree(started.tree).length >= 6)
  const stranger = start("exec sleep 600")
  const end = await killTree(ports, started.tree, 3000)
  expect(end.survivors).toEqual([])
  expect(end.killed).toBeGreaterThanOrEqual(6)
  expect(marked(started.tree)).toEqual([])
  expect(marked(stranger.tree)).toHaveLength(1)
  expect(await started.child.exited).toEqual({ kind: "signal", signal: "SIGKILL" })
})

test("PT2 without a control group, what left session, group and environment behind is killed while its parents live", async () => {
  const started = start("sh -c 'env -i setsid sleep 654 & wait' & echo up; wait")
  // It is a member, and the only one without a variable.
  const pid = await settled(() => membersOfTree(started.tree).find((each) => readEnviron(each) === ""))
  expect((await killTree(ports, started.tree, 3000)).survivors).toEqual([])
  await settled(() => (readStat(pid)?.state ?? "Z") === "Z")
})

test("what is left of a process that is long gone is found by its marker", async () => {
  const started = start("setsid sleep 600 & echo up")
  await started.child.exited
  await settled(() => marked(started.tree).length === 1)
  const end = await killTree(ports, { ...started.tree, root: undefined }, 3000)
  expect(end).toEqual({ killed: 1, survivors: [] })
  expect(marked(started.tree)).toEqual([])
})

const isolation = chooseIsolation(`computerd-test-${process.pid}`)

test.skipIf(isolation.kind !== "cgroup")(
  "0.7 with a control group even those that left session, group and environment behind are killed",
  async () => {
    if (isolation.kind !== "cgroup") return
    const cgroup = join(isolation.directory, "tree")
    makeGroup(cgroup)
    mkdirSync(join(cgroup, "nested"))
    const started = start(
      `echo $$ > ${cgroup}/nested/cgroup.procs; env -i setsid sleep 600 & ${forest}`,
      cgroup,
    )
    await settled(() => said(started).includes("up") && marked(started.tree).length >= 5)
    const end = await killTree(ports, started.tree, 3000)
    expect(end.survivors).toEqual([])
    expect(marked(started.tree)).toEqual([])
    expect(existsSync(cgroup)).toBe(false)
    removeGroup(isolation.directory)
    expect(existsSync(isolation.directory)).toBe(false)
  },
)

test("output is cut while it is written, keeps its last part, and never blocks the process", async () => {
  const started = start("i=0; while [ $i -lt 40000 ]; do echo line $i; i=$((i+1)); done; echo done")
  expect(await started.child.exited).toEqual({ kind: "code", code: 0 })
  logs.ended(started.identity)
  const kept = `${readFileSync(`${started.stdout}.1`, "utf8")}${said(started)}`
  expect(kept.endsWith("line 39999\ndone\n")).toBe(true)
  expect(kept.length).toBeLessThanOrEqual(2 * 64 * 1024)
  expect(entries.some((entry) => entry.event === "output_truncated")).toBe(true)
})

test("output of Sessions that are gone is kept for the last hundred of them, and never removed from known ones", () => {
  const folders = ["kept", ...Array.from({ length: 103 }, (_, index) => `gone-${index}`)]
  for (const [index, name] of folders.entries()) {
    mkdirSync(join(directory, "logs", name))
    utimesSync(join(directory, "logs", name), index, index)
  }
  logs.prune()
  expect(readdirSync(join(directory, "logs")).sort()).toEqual(["kept", ...folders.slice(4)].sort())
})
