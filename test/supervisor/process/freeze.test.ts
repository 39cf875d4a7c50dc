/** Freezing of real trees, by control group where this machine has them and by signal everywhere. */
import { afterEach, beforeEach, expect, test } from "bun:test"
import { readFileSync, rmSync } from "node:fs"
import { join } from "node:path"
import { chooseIsolation, makeGroup, removeGroup } from "@computerd/supervisor/process/cgroup"
import { freezeTrees, thawTrees } from "@computerd/supervisor/process/freeze"
import { readBootId, stampOf } from "@computerd/supervisor/process/procfs"
import { killTree, membersOfTree, type Tree } from "@computerd/supervisor/process/tree"
import { ports, settled, temporaryDirectory } from "../harness.ts"

const isolation = chooseIsolation(`freeze-test-${process.pid}`)
const kinds = isolation.kind === "cgroup" ? (["signal", "cgroup"] as const) : (["signal"] as const)

let directory: string
let trees: Tree[]
beforeEach(() => {
  directory = temporaryDirectory()
  trees = []
})
afterEach(async () => {
  for (const tree of trees) await killTree(ports, tree, 5_000)
  rmSync(directory, { recursive: true, force: true })
  if (isolation.kind === "cgroup") removeGroup(isolation.directory)
})

/** Counts in three processes: the first, one that left its session, and children that come and go all the time. */
const script = `
setsid sh -c 'i=0; while :; do i=$((i+1)); echo $i > escaped; sleep 0.01; done' &
(while :; do sh -c 'sleep 0.005' ; done) &
i=0; while :; do i=$((i+1)); echo $i > first; sleep 0.01; done`

const start = async (kind: (typeof kinds)[number], name: string): Promise<Tree> => {
  const cgroup =
    kind === "cgroup" && isolation.kind === "cgroup" ? join(isolation.directory, name) : undefined
  if (cgroup !== undefined) makeGroup(cgroup)
  const marker = `HELMR_SESSION_ID=${name}-${process.pid}`
  const [variable = "", value = ""] = marker.split("=")
  const child = Bun.spawn(["sh", "-c", script], {
    ...{ cwd: directory, detached: true, stdio: ["ignore", "ignore", "ignore"] },
    env: { PATH: process.env["PATH"], [variable]: value },
    ...(cgroup === undefined ? {} : { cgroup }),
  })
  const tree = { root: stampOf(child.pid, readBootId()), marker, cgroup }
  trees.push(tree)
  await settled(() => count("first") > 2 && count("escaped") > 2, "counting")
  return tree
}

const count = (name: string): number => {
  try {
    return Number(readFileSync(join(directory, name), "utf8"))
  } catch {
    return 0
  }
}

const counts = (): readonly number[] => [count("first"), count("escaped")]

for (const kind of kinds) {
  test(`FZ1 a tree that is frozen by ${kind} does nothing at all, escapees and forks included, until it is thawed`, async () => {
    const tree = await start(kind, "one")
    await settled(() => freezeTrees([tree]), "frozen")
    const before = counts()
    const members = [...membersOfTree(tree)].sort()
    await Bun.sleep(150)
    expect(counts()).toEqual(before)
    expect([...membersOfTree(tree)].sort()).toEqual(members)
    expect(freezeTrees([tree])).toBe(true)
    thawTrees([tree])
    await settled(() => counts().every((now, index) => now > (before[index] ?? 0)), "counting goes on")
  })

  test(`a tree that is frozen by ${kind} is killed as it stands`, async () => {
    const tree = await start(kind, "two")
    await settled(() => freezeTrees([tree]), "frozen")
    const before = counts()
    expect((await killTree(ports, tree, 5_000)).survivors).toEqual([])
    expect(counts()).toEqual(before)
  })
}

test("a tree that is gone, or was never there, counts as frozen", () => {
  const marker = "HELMR_SESSION_ID=nobody"
  expect(freezeTrees([{ root: undefined, marker, cgroup: undefined }])).toBe(true)
  expect(freezeTrees([{ root: undefined, marker, cgroup: "/nowhere" }])).toBe(true)
  thawTrees([{ root: undefined, marker, cgroup: "/nowhere" }])
})
