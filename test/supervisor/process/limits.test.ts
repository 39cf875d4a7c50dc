import { afterEach, beforeEach, expect, test } from "bun:test"
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { enableControllers } from "@computerd/supervisor/process/controllers"
import {
  enabling,
  missingFrom,
  outOfMemoryKills,
  settingsOf,
  wantedControllers,
} from "@computerd/supervisor/process/limits"
import { explainUnwatched, watchMemory } from "@computerd/supervisor/process/memory"
import { whyNotRecordable } from "@computerd/supervisor/process/recordable"
import { createWorld, newAssignment, ports, settled, temporaryDirectory, type World } from "../harness.ts"

let directory: string
beforeEach(() => {
  directory = temporaryDirectory()
})
afterEach(() => rmSync(directory, { recursive: true, force: true }))

const limits = { memoryBytes: 512 * 1024 * 1024, pids: 200 }

/** As a kernel shows them; this folder stands for a mounted hierarchy. */
const group = (path: string, files: Readonly<Record<string, string>>): string => {
  const made = join(directory, path)
  mkdirSync(made, { recursive: true })
  for (const [name, text] of Object.entries(files)) writeFileSync(join(made, name), text)
  return made
}

test("a limit is written to the file of its controller, and what is not limited is left alone", () => {
  expect(settingsOf(limits)).toEqual([
    { file: "memory.max", value: "536870912" },
    { file: "pids.max", value: "200" },
  ])
  expect(settingsOf({})).toEqual([])
})

test("the memory controller is wanted with and without a limit, the other one only with it", () => {
  expect(wantedControllers({})).toEqual(["memory"])
  expect(wantedControllers(limits)).toEqual(["memory", "pids"])
  expect(missingFrom("cpuset cpu io memory hugetlb pids rdma misc\n", ["memory", "pids"])).toEqual([])
  expect(missingFrom("hugetlb\n", ["memory", "pids"])).toEqual(["memory", "pids"])
  expect(enabling(["memory", "pids"])).toBe("+memory +pids")
})

test("controllers are handed on from the group of the supervisor and from that of its Computer", () => {
  const own = group("own", { "cgroup.controllers": "cpu memory pids\n", "cgroup.subtree_control": "" })
  const computer = group("own/computerd-x", { "cgroup.subtree_control": "" })
  expect(enableControllers(computer, limits)).toBeUndefined()
  for (const each of [own, computer])
    expect(readFileSync(join(each, "cgroup.subtree_control"), "utf8")).toBe("+memory +pids")
  expect(existsSync(join(directory, "own/computerd-x.supervisor"))).toBe(false)
})

test("controllers that are bound elsewhere are named as the reason", () => {
  const own = group("own", { "cgroup.controllers": "hugetlb\n" })
  expect(enableControllers(join(own, "computerd-x"), limits)).toBe(
    `cgroup v2 has no memory and pids controller in ${own}; it may be bound to cgroup v1 or not delegated`,
  )
})

test("a kill for want of memory is told from others by what the group counted in the moments before it", async () => {
  const events = (kills: number): string =>
    `low 0\nhigh 0\nmax 7\noom 1\noom_kill ${kills}\noom_group_kill 0\n`
  const killed = { kind: "signal", signal: "SIGKILL" } as const
  expect([outOfMemoryKills(events(2)), outOfMemoryKills("")]).toEqual([2, 0])
  const cgroup = group("group", { "memory.events": events(1) })
  const looks: (() => void)[] = []
  const timers = {
    ...ports.timers,
    every: (_: number, look: () => void) => {
      looks.push(look)
      return () => looks.splice(0)
    },
  }
  const pass = (): void => looks[0]?.()
  // A child of it was killed long ago, and somebody else killed it.
  expect(watchMemory(timers, cgroup).explain(killed)).toEqual(killed)
  expect(looks).toEqual([])
  const watch = watchMemory(timers, cgroup)
  writeFileSync(join(cgroup, "memory.events"), events(2))
  pass()
  // Counted before the exit was heard of.
  expect(watch.explain(killed)).toEqual({ kind: "out_of_memory" })
  const longAgo = watchMemory(timers, cgroup)
  pass()
  pass()
  expect(longAgo.explain(killed)).toEqual(killed)
  expect(explainUnwatched(killed, cgroup)).toEqual({ kind: "out_of_memory" })
  expect(explainUnwatched({ kind: "code", code: 137 }, cgroup)).toEqual({ kind: "code", code: 137 })
  expect(explainUnwatched(killed, directory)).toEqual(killed)
})

test("limits of Sessions bind where they can, and are told to be without force where they cannot", async () => {
  const world: World = await createWorld({ limits })
  try {
    const assignment = newAssignment("echo")
    world.apply({ type: "assign", assignment })
    await world.event("process_ready")
    const degraded = world.entries.filter((entry) => entry.event === "care_degraded")
    const cgroup = world.store.processes.get(assignment.sessionId)?.cgroup
    const file = cgroup === undefined ? undefined : join(cgroup, "memory.max")
    if (file !== undefined && existsSync(file)) {
      expect(degraded).toEqual([])
      expect(readFileSync(file, "utf8").trim()).toBe(String(limits.memoryBytes))
    } else {
      expect(degraded).toMatchObject([{ aspect: "limits" }])
      expect(degraded[0]).toHaveProperty(
        "reason",
        expect.stringMatching(/^the limits of Sessions are not in force: ./),
      )
    }
  } finally {
    await world.close()
  }
})

test("the kernel is offered a Session process before its supervisor", async () => {
  const world = await createWorld()
  try {
    const { sessionId } = await startOf(world)
    const scoreOf = (pid: number | "self") => Number(readFileSync(`/proc/${pid}/oom_score_adj`, "utf8"))
    const pid = await settled(() => world.sessions.find(sessionId)?.pid)
    expect(scoreOf(pid)).toBeGreaterThan(scoreOf("self"))
  } finally {
    await world.close()
  }
})

const startOf = async (world: World) => {
  const assignment = newAssignment("echo")
  world.apply({ type: "assign", assignment })
  await world.event("process_ready")
  return assignment
}

const root = "CapEff:\t000001ffffffffff\n"
const person = "CapEff:\t0000000000000000\n"
const kernels: readonly (readonly [string, string | undefined, string, boolean])[] = [
  ["6.15.0", undefined, person, true],
  ["6.18.44-fc-v657", undefined, person, true],
  ["7.0.0", "0\n", person, true],
  ["6.14.11-generic", undefined, root, false],
  ["5.10.0", undefined, root, false],
  ["6.17.0-5-generic", "1\n", person, false],
  ["6.17.0-5-generic", "1\n", root, true],
  ["6.17.0-5-generic", "2\n", root, true],
  ["6.17.0-5-generic", "3\n", root, false],
]

test.each(kernels)(
  "Linux %s with ptrace scope %p and capabilities %p: exits can be kept: %p",
  (release, scope, status, can) => {
    const reason = whyNotRecordable({ release, ptraceScope: scope, status })
    if (can) expect(reason).toBeUndefined()
    else expect(reason).toMatch(/6\.15 does|ptrace_scope/)
  },
)
