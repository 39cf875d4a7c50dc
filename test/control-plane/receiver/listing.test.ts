/** The three lists: pages, cursors, filters and what a row holds. */
import { expect, test } from "bun:test"
import type { AdmissionAnswer } from "@computerd/protocol/link"
import { agentOf, bootComputerOf, code, environment, freshKey, startRoot, text, value } from "../rig.ts"
import {
  type Arguments,
  adopt,
  ask,
  begin,
  call,
  created,
  delegate,
  eachTest,
  exited,
  finish,
  idleRoot,
  inspect,
  type Member,
  only,
  refusal,
  runningChild,
} from "./scene.ts"

const at = eachTest()

const rows = (answer: AdmissionAnswer, field: string): readonly Arguments[] =>
  value(answer)[field] as unknown as readonly Arguments[]

const spawnMany = (root: Member, count: number) =>
  Promise.all(
    Array.from({ length: count }, () => ask(root, "spawn", { agent: "helper", input: text("secret words") })),
  )

const agentKeys = Array.from({ length: 120 }, (_, index) => `agent-${String(index).padStart(3, "0")}`)

const leadWith = (spawnable: readonly string[]) =>
  agentOf("lead", {
    runtimeMcp: only({ operation: "spawn", agents: spawnable, computer: "new" }) as never,
  })

test("R94 R95 R96 R97 list_agents pages fifty of the pinned Deployment, without loss or repeat", async () => {
  const pin = at().publish([leadWith(agentKeys), ...agentKeys.map((key) => agentOf(key))])
  const root = startRoot(at(), "lead")
  at().publish(["lead", "newer"])
  const pages: Arguments[] = []
  for (let cursor: Arguments = {}; ; ) {
    const page = value(await call(root, "list_agents", { operation: "spawn", ...cursor }))
    pages.push(page)
    if (typeof page["nextCursor"] !== "string") break
    cursor = { cursor: page["nextCursor"] }
  }
  const agents = pages.map((page) => page["agents"] as { agent: string }[])
  expect(agents.map((page) => page.length)).toEqual([50, 50, 20])
  expect(agents.flat().map((one) => one.agent)).toEqual(agentKeys)
  expect(pages.map((page) => page["deploymentId"])).toEqual([pin, pin, pin])
  expect(pages.map((page) => Object.keys(page).sort())).toEqual([
    ["agents", "deploymentId", "nextCursor"],
    ["agents", "deploymentId", "nextCursor"],
    ["agents", "deploymentId"],
  ])
  for (const asked of [{}, { operation: "enqueue" }, { operation: "spawn", limit: 5 }])
    expect(refusal(await call(root, "list_agents", asked))).toMatch(/^invalid_arguments: (operation|limit)/)
})

test("R69 R98 grants filter before paging: sixty granted of 120 are fifty and ten", async () => {
  const granted = agentKeys.filter((_, index) => index % 2 === 1)
  at().publish([leadWith(granted), ...agentKeys.map((key) => agentOf(key))])
  const root = startRoot(at(), "lead")
  const first = value(await call(root, "list_agents", { operation: "spawn" }))
  const cursor = first["nextCursor"] ?? null
  const second = value(await call(root, "list_agents", { operation: "spawn", cursor }))
  const [one, two] = [first["agents"] as { agent: string }[], second["agents"] as { agent: string }[]]
  expect([one.length, two.length]).toEqual([50, 10])
  expect([...one, ...two].map((row) => row.agent)).toEqual(granted)
  expect("nextCursor" in second).toBe(false)
})

test("R99 a creation family without grants is an empty page without a cursor", async () => {
  const pin = at().publish([leadWith(["helper"]), agentOf("helper")])
  const root = startRoot(at(), "lead")
  const page = value(await call(root, "list_agents", { operation: "start" }))
  expect(page).toEqual({ deploymentId: pin, agents: [] })
})

test("R154 R155 sixty children come newest first as fifty and ten; a limit is an integer from 1 to 100", async () => {
  at().publish(["lead", "helper"])
  const root = idleRoot(at(), "lead")
  const made = (await spawnMany(root, 60)).map((answer) => created(answer).sessionId)
  const first = value(await call(root, "list_sessions", { relation: "owned" }))
  expect((first["sessions"] as unknown[]).length).toBe(50)
  const next = { relation: "owned", cursor: first["next_cursor"] ?? null }
  const second = value(await call(root, "list_sessions", next))
  expect(Object.keys(second)).toEqual(["sessions"])
  const ids = [first, second].flatMap((page) => page["sessions"] as { id: string }[]).map((row) => row.id)
  expect(ids).toEqual([...made].reverse())
  const hundred = await call(root, "list_sessions", { relation: "owned", limit: 100 })
  expect(rows(hundred, "sessions").length).toBe(60)
  expect(rows(await call(root, "list_sessions", { relation: "owned", limit: 1 }), "sessions").length).toBe(1)
  for (const limit of [0, 101, 1.5, "5", -1])
    expect(refusal(await call(root, "list_sessions", { relation: "owned", limit }))).toStartWith(
      "invalid_arguments: limit",
    )
})

test("R155 a walk of 120 rows loses and repeats none while rows are added, closed and the store is reopened", async () => {
  at().publish(["lead", "helper"])
  const root = idleRoot(at(), "lead")
  const made = (await spawnMany(root, 120)).map((answer) => created(answer).sessionId)
  const walked: unknown[] = []
  let cursor: Arguments = {}
  for (let page = 0; ; page += 1) {
    const answer = value(await call(root, "list_sessions", { relation: "owned", limit: 17, ...cursor }))
    walked.push(...(answer["sessions"] as { id: string }[]).map((row) => row.id))
    if (typeof answer["next_cursor"] !== "string") break
    cursor = { cursor: answer["next_cursor"] }
    await spawnMany(root, 2)
    await ask(root, "cancel_session", { sessionId: made[page] ?? "" })
    if (page === 2) {
      await at().restart()
      root.supervisor.attach()
    }
  }
  expect(walked).toEqual([...made].reverse())
})

test("R155 R167 a cursor of another caller, tool, relation or status, and a made-up one, are one refusal", async () => {
  at().publish(["lead", "helper"])
  const [root, other] = [idleRoot(at(), "lead"), idleRoot(at(), "lead")]
  await spawnMany(root, 3)
  await spawnMany(other, 3)
  const ask1 = { relation: "owned", limit: 1 }
  const cursor = value(await call(root, "list_sessions", ask1))["next_cursor"] ?? null
  expect(code(await call(root, "list_sessions", { ...ask1, cursor }))).toBe("ok")
  expect(code(await call(root, "list_sessions", { ...ask1, limit: 2, cursor }))).toBe("ok")
  const texts = [
    await call(other, "list_sessions", { ...ask1, cursor }),
    await call(root, "list_sessions", { relation: "requested", cursor }),
    await call(root, "list_sessions", { ...ask1, status: ["open"], cursor }),
    await call(root, "list_computers", { cursor }),
    await call(root, "list_agents", { operation: "spawn", cursor }),
    await call(root, "list_sessions", { ...ask1, cursor: "made up" }),
    await call(root, "list_sessions", { ...ask1, cursor: `${String(cursor)}x` }),
  ].map(refusal)
  expect(new Set(texts).size).toBe(1)
  expect(texts[0]).toStartWith("invalid_arguments: cursor")
})

test("R151 R152 owned is direct children only; requested holds them and the independent work", async () => {
  at().publish(["lead", "helper"])
  const root = startRoot(at(), "lead")
  const child = await delegate(at(), root, { by: "spawn", agent: "helper" })
  const started = begin(await delegate(at(), root, { by: "start", agent: "lead" }))
  const grandchild = await delegate(at(), started, { by: "spawn", agent: "helper" })
  const list = async (relation: string) =>
    rows(await call(root, "list_sessions", { relation }), "sessions").map((row) => row["id"])
  expect(await list("owned")).toEqual([child.sessionId])
  expect(await list("requested")).toEqual([started.sessionId, child.sessionId])
  adopt(at(), root, started)
  expect(await list("owned")).toEqual([started.sessionId, child.sessionId])
  expect((await inspect(root, grandchild))["id"]).toBe(grandchild.sessionId)
  for (const asked of [{}, { relation: "all" }])
    expect(refusal(await call(root, "list_sessions", asked))).toStartWith("invalid_arguments: relation")
})

test("R150 R153 status filters, omission means all, and a rebuilt caller finds closed children", async () => {
  at().publish(["lead", "helper"])
  const root = idleRoot(at(), "lead")
  const open = await runningChild(at(), root, "helper")
  const closing = await runningChild(at(), root, "helper")
  const closed = await runningChild(at(), root, "helper")
  finish(closed)
  for (const one of [closing, closed]) await ask(root, "close_session", { sessionId: one.sessionId })
  exited(root, { kind: "signal", signal: "SIGKILL" })
  root.supervisor.startProcess(root.sessionId)
  const list = async (...status: readonly string[]) => {
    const filter = status.length === 0 ? {} : { status }
    return rows(await call(root, "list_sessions", { relation: "owned", ...filter }), "sessions").map(
      (r) => r["id"],
    )
  }
  expect(await list("open")).toEqual([open.sessionId])
  expect(await list("closing")).toEqual([closing.sessionId])
  expect(await list("closed")).toEqual([closed.sessionId])
  expect(await list("closed", "open")).toEqual([closed.sessionId, open.sessionId])
  expect(await list()).toEqual([closed.sessionId, closing.sessionId, open.sessionId])
  expect(code(await call(root, "list_sessions", { relation: "owned", status: ["idle"] }))).toBe(
    "invalid_arguments",
  )
  const all = await call(root, "list_sessions", { relation: "owned", status: ["closed"] })
  expect(rows(all, "sessions")[0]?.["initial_turn"]).toEqual({ id: closed.turnId, status: "completed" })
})

const sessionFields = [
  "agent",
  "close_after_idle_ms",
  "computer_id",
  "created_at",
  "deployment_id",
  "holds",
  "id",
  "idle_since",
  "initial_turn",
  "parent_session_id",
  "requester_session_id",
  "root_session_id",
  "status",
  "template",
]

test("R146 R147 R149 R155 rows and inspection have the named fields, no history, and the initial Turn's status", async () => {
  at().publish(["lead", "helper"])
  const root = startRoot(at(), "lead")
  const child = await runningChild(at(), root, "helper")
  const started = await delegate(at(), root, { by: "start", agent: "helper" })
  const status = async () => (await inspect(root, child))["initial_turn"]
  expect(await status()).toEqual({ id: child.turnId, status: "running" })
  finish(child, child.turnId, "secret result")
  expect(await status()).toEqual({ id: child.turnId, status: "completed" })
  for (const member of [root, child, started])
    expect(Object.keys(await inspect(root, member)).sort()).toEqual(sessionFields)
  const page = await call(root, "list_sessions", { relation: "requested" })
  expect(rows(page, "sessions")[1]).toEqual(await inspect(root, child))
  expect(JSON.stringify([page, await inspect(root, child)])).not.toMatch(/secret|work|go/)
})

test("R146 a key is shown when the start from outside gave one, and is no field otherwise", async () => {
  at().publish(["lead"])
  const started = at().receiver.startSession({
    environment,
    agent: "lead",
    input: [],
    idempotencyKey: freshKey(),
    sessionKey: "ticket-7",
  })
  if (!started.ok) throw new Error(started.error.message)
  const keyed = begin({ ...started.value, supervisor: bootComputerOf(at(), started.value.sessionId) })
  expect((await inspect(keyed, keyed))["key"]).toBe("ticket-7")
  const plain = startRoot(at(), "lead")
  expect("key" in (await inspect(plain, plain))).toBe(false)
})
