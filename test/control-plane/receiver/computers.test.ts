/** Computers as Sessions see and choose them: placement, pins, discovery, and the end of an unused one. */
import { expect, test } from "bun:test"
import { timestamp } from "@computerd/protocol/content"
import type { ComputerId } from "@computerd/protocol/ids"
import { agentOf, code, computerOf, startRoot, templateOf, value, wideMaximum } from "../rig.ts"
import {
  type Arguments,
  ask,
  begin,
  call,
  created,
  delegate,
  eachTest,
  finish,
  foreigner,
  idleRoot,
  inspect,
  type Member,
  only,
  pass,
  refusal,
  runningChild,
  seen,
} from "./scene.ts"

const at = eachTest()

const list = async (caller: Member): Promise<readonly Arguments[]> =>
  value(await call(caller, "list_computers", {}))["computers"] as unknown as readonly Arguments[]

const row = (id: ComputerId) =>
  at()
    .receiver.computers()
    .find((computer) => computer.id === id)

const fields = [
  "created_at",
  "delete_after_unused_ms",
  "deployment_id",
  "id",
  "residency",
  "status",
  "template",
  "unused_since",
  "updated_at",
]

test("R100 R101 list_computers takes a cursor only; a running, a parked and a failed one have the named fields", async () => {
  at().publish(["lead", "helper"])
  const root = startRoot(at(), "lead")
  const parked = await delegate(at(), root, { by: "spawn", agent: "helper" })
  const failed = await delegate(at(), root, { by: "spawn", agent: "helper" })
  at().receiver.computerState(parked.supervisor.computerId, "parked")
  at().receiver.computerState(failed.supervisor.computerId, "unavailable", "no room on disk")
  const answer = value(await call(root, "list_computers", {}))
  expect(Object.keys(answer)).toEqual(["computers"])
  const rows = await list(root)
  expect(rows.map((one) => one["residency"])).toEqual(["unavailable", "parked", "running"])
  expect(Object.keys(rows[2] ?? {}).sort()).toEqual(fields)
  expect(Object.keys(rows[1] ?? {}).sort()).toEqual(fields)
  expect(Object.keys(rows[0] ?? {}).sort()).toEqual([...fields, "error"].sort())
  expect(JSON.stringify(rows[0]?.["error"])).toContain("no room on disk")
  expect(code(await call(root, "list_computers", { limit: 5 }))).toBe("invalid_arguments")
})

test("R103 discovery shows the Computers of itself, its children and what it started, and no stranger's", async () => {
  at().publish(["lead", "helper"])
  const root = startRoot(at(), "lead")
  const stranger = startRoot(at(), "lead")
  await delegate(at(), stranger, { by: "spawn", agent: "helper" })
  foreigner(at(), "lead")
  const child = await delegate(at(), root, { by: "spawn", agent: "helper" })
  const started = begin(await delegate(at(), root, { by: "start", agent: "lead" }))
  const theirs = await delegate(at(), started, { by: "spawn", agent: "helper" })
  value(await ask(root, "enqueue", { sessionId: stranger.sessionId, input: [] }))
  const newestFirst = [started, child, root].map((member) => member.supervisor.computerId)
  expect((await list(root)).map((one) => one["id"] as string)).toEqual(newestFirst)
  expect((await list(started)).map((one) => one["id"] as string)).toEqual([
    theirs.supervisor.computerId,
    started.supervisor.computerId,
  ])
})

test("R103 a rule for the caller's Computer limits what may be chosen, not what is seen", async () => {
  at().publish(["lead", "helper"])
  const root = startRoot(at(), "lead")
  await delegate(at(), root, { by: "spawn", agent: "helper" })
  const scope = only(
    { operation: "list_computers" },
    { operation: "spawn", agents: ["helper"], computer: "caller" },
  )
  const answer = value(await call(root, "list_computers", {}, scope))
  expect((answer["computers"] as unknown[]).length).toBe(2)
})

test("R100 list_computers pages fifty, newest first, without loss while Computers are added", async () => {
  at().publish(["lead", "helper"])
  const root = idleRoot(at(), "lead")
  const spawn = () => ask(root, "spawn", { agent: "helper", input: [] })
  const made = await Promise.all(Array.from({ length: 60 }, spawn))
  const first = value(await call(root, "list_computers", {}))
  await spawn()
  const second = value(await call(root, "list_computers", { cursor: first["next_cursor"] ?? null }))
  const pages = [first, second].map((page) => (page["computers"] as { id: string }[]).map((one) => one.id))
  expect(pages.map((page) => page.length)).toEqual([50, 11])
  const ids = [root.sessionId, ...made.map((answer) => created(answer).sessionId)]
  expect(pages.flat()).toEqual(ids.map((id): string => computerOf(at(), id)).reverse())
  expect("next_cursor" in second).toBe(false)
})

test("R102 R169 creation chooses the caller's own Computer by its id and a caller rule, and no other way", async () => {
  at().publish(["lead", "helper"])
  const root = startRoot(at(), "lead")
  const child = await delegate(at(), root, { by: "spawn", agent: "helper" })
  const started = await delegate(at(), root, { by: "start", agent: "helper" })
  const stranger = startRoot(at(), "lead")
  const own = root.supervisor.computerId
  for (const by of ["spawn", "start"] as const) {
    const callerRule = only({ operation: by, agents: ["helper"], computer: "caller" })
    const newRule = only({ operation: by, agents: ["helper"], computer: "new" })
    const create = (args: Arguments, scope = callerRule) =>
      ask(root, by, { agent: "helper", input: [], ...args }, scope)
    const made = created(await create({ computerId: own }))
    expect(computerOf(at(), made.sessionId)).toBe(own)
    expect(code(await create({}))).toBe("runtime_mcp_denied")
    expect(code(await create({ computerId: own }, newRule))).toBe("runtime_mcp_denied")
    const unknown = "cmp_01900000-0000-7000-8000-fffffffffff9"
    const others = [child, started, stranger].map((member): string => member.supervisor.computerId)
    const texts = new Set<string>()
    for (const computerId of [...others, unknown]) texts.add(refusal(await create({ computerId })))
    expect(texts.size).toBe(1)
    expect([...texts][0]).toStartWith("runtime_mcp_denied: ")
  }
})

test("R180 R223 a child on the caller's Computer runs there, under that Computer's Template and not its Agent's", async () => {
  const helper = agentOf("helper", { template: "special" })
  const lead = agentOf("lead", { runtimeMcp: wideMaximum(["lead", "helper"]) as never })
  at().publish([lead, helper], [templateOf("basic"), templateOf("special")])
  const root = startRoot(at(), "lead")
  const own = root.supervisor.computerId
  const shared = await delegate(at(), root, { by: "spawn", agent: "helper", computerId: own })
  expect(await inspect(root, shared)).toMatchObject({ computer_id: own, template: "special" })
  expect(row(own)?.template).toBe("basic")
  begin(shared)
  expect(seen(at(), shared).turns[0]?.status).toBe("running")
  const apart = await delegate(at(), root, { by: "spawn", agent: "helper" })
  expect((await inspect(root, apart))["computer_id"]).not.toBe(own)
  expect(row(apart.supervisor.computerId)?.template).toBe("special")
})

test("R222 a Computer keeps the Template and Deployment of its creation across redeploys, restarts and losses", async () => {
  const old = at().publish(["lead"], [templateOf("basic", { deleteAfterUnusedMs: 77 })])
  const root = startRoot(at(), "lead")
  at().publish(["lead"], [templateOf("basic", { deleteAfterUnusedMs: 5 })])
  await at().restart()
  at().receiver.computerLost(root.supervisor.computerId, "power cut")
  root.supervisor.attach()
  const computer = row(root.supervisor.computerId)
  expect(computer).toMatchObject({ deploymentId: old, template: "basic", residency: "running" })
  expect(computer?.manifest.deleteAfterUnusedMs).toBe(77)
})

test("R101 a Computer is deleted once nothing has used it for its whole period; use stops the clock", async () => {
  const runtimeMcp = wideMaximum(["lead", "helper"]) as never
  const helper = agentOf("helper", { template: "brief" })
  const templates = [templateOf("basic"), templateOf("brief", { deleteAfterUnusedMs: 5000 })]
  at().publish([agentOf("lead", { runtimeMcp }), helper], templates)
  const root = idleRoot(at(), "lead")
  const child = await runningChild(at(), root, "helper")
  const { computerId } = child.supervisor
  const shown = async () => (await list(root)).find((one) => one["id"] === computerId)
  expect(await shown()).toMatchObject({
    status: "available",
    delete_after_unused_ms: 5000,
    unused_since: null,
  })
  pass(at(), 20_000, root, child)
  finish(child)
  expect((await shown())?.["unused_since"]).toBeNull()
  value(await ask(root, "close_session", { sessionId: child.sessionId }))
  expect((await shown())?.["unused_since"]).toBe(timestamp(at().ports.now()))
  pass(at(), 4999, root)
  expect((await shown())?.["status"]).toBe("available")
  pass(at(), 1, root)
  expect((await shown())?.["status"]).toBe("deleting")
  expect(row(computerId)?.desired).toBe("deleted")
  at().receiver.computerDeleted(computerId)
  expect((await shown())?.["status"]).toBe("deleted")
  expect(child.supervisor.attach().ok).toBe(false)
  pass(at(), 365 * 24 * 3600 * 1000, root)
  expect(row(root.supervisor.computerId)?.status).toBe("available")
})

test("R101 the clock of an unused Computer survives reopening the store", async () => {
  const templates = [templateOf("basic", { deleteAfterUnusedMs: 5000 })]
  at().publish([agentOf("lead", { closeAfterIdleMs: 0 })], templates)
  const root = idleRoot(at(), "lead")
  expect(seen(at(), root).status).toBe("closed")
  at().advance(4000)
  await at().restart()
  at().advance(999)
  expect(row(root.supervisor.computerId)?.status).toBe("available")
  at().advance(1)
  expect(row(root.supervisor.computerId)?.status).toBe("deleting")
})
