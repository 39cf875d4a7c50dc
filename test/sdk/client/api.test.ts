import { afterEach, beforeEach, describe, expect, setDefaultTimeout, test } from "bun:test"
import type { Permission } from "@computerd/protocol/api/permissions"
import { SessionId, TurnId } from "@computerd/protocol/ids"
import { HelmrClient } from "@helmr/sdk"
import { type ApiClient, type ApiRig, createRig, other } from "../../control-plane/api/rig.ts"
import { agentOf, templateOf, text } from "../../control-plane/rig.ts"
import { failureOf, id } from "./fake.ts"

setDefaultTimeout(30_000)

let rig: ApiRig
let api: ApiClient
let client: HelmrClient
beforeEach(async () => {
  rig = await createRig()
  api = rig.client()
  client = clientWith(api)
})
afterEach(() => rig.close())

const clientWith = ({ key }: ApiClient): HelmrClient => new HelmrClient({ baseUrl: rig.url, apiKey: key })

const started = async (agent = "lead") => {
  const { session, turn } = await client.agents.start(agent, { input: "go" })
  const ids = { sessionId: SessionId.parse(session.id), turnId: TurnId.parse(turn.id) }
  return { session, turn, ids, run: () => rig.run(ids) }
}

describe("pins", () => {
  test("R249 R253 a Computer reads as its own pin, whatever its Sessions are", async () => {
    const first = rig.publish(["lead"])
    const { session } = await started()
    rig.publish(["lead"])
    const { computerId } = await client.sessions.get(session.id)
    const computer = await client.computers.get(computerId)
    expect([computer.id, computer.template, computer.deploymentId]).toEqual([computerId, "basic", first])
    const made = await client.computers.create("basic", { key: "mine" })
    expect(made.deploymentId).not.toBe(first)
    expect(await client.computers.get(made.computerId)).toMatchObject({ key: "mine", template: "basic" })
  })

  test("R250 R251 a Template reads with its normalized policies at each pin", async () => {
    const narrow = templateOf("basic", { network: { blockAll: true } })
    const first = rig.publish(["lead"], [narrow])
    const second = rig.publish(["lead"], [templateOf("basic")])
    const at = (deploymentId?: string) => client.templates.get("basic", { deploymentId })
    expect(await at(first)).toMatchObject({
      id: "basic",
      deploymentId: first,
      network: { blockAll: true },
      prepareNetwork: { blockAll: true },
      prepareSecrets: [],
    })
    expect(await at()).toMatchObject({ deploymentId: second, network: { blockAll: false } })
    expect((await client.templates.list({ deploymentId: first })).templates).toEqual([await at(first)])
  })

  test("R252 a Session reads with its Agent and pin, an Agent with its resolved finite maximum", async () => {
    const first = rig.publish(["lead", agentOf("narrow")])
    const { session } = await started()
    const second = rig.publish(["lead"])
    expect(await client.sessions.get(session.id)).toMatchObject({ agent: "lead", deploymentId: first })
    const narrow = await client.agents.get("narrow", { deploymentId: first })
    expect([narrow.deploymentId, narrow.runtimeMcp]).toEqual([first, { allow: [] }])
    const lead = await client.agents.get("lead")
    expect(lead.deploymentId).toBe(second)
    expect(lead.runtimeMcp.allow.length).toBeGreaterThan(5)
    expect((await client.agents.list({ deploymentId: first })).agents.map((agent) => agent.id)).toEqual([
      "lead",
      "narrow",
    ])
  })

  test("Deployments read alike by id, as the current one and in pages", async () => {
    const first = rig.publish(["lead"])
    const second = rig.publish(["lead", "worker"])
    const current = await client.deployments.current()
    expect(current).toMatchObject({
      id: second,
      current: true,
      agents: ["lead", "worker"],
      templates: ["basic"],
    })
    expect(await client.deployments.get(first)).toMatchObject({ id: first, current: false })
    const page = await client.deployments.list({ limit: 1 })
    expect(page.deployments).toEqual([current])
    const rest = await client.deployments.list({ limit: 1, cursor: page.nextCursor })
    expect([rest.deployments.map((one) => one.id), rest.nextCursor]).toEqual([[first], undefined])
  })
})

describe("work", () => {
  beforeEach(() => void rig.publish(["lead", "worker"]))

  test("a Session is started, given more, read, listed, followed and closed", async () => {
    const { session, turn, run, ids } = await started()
    const supervisor = run()
    const next = await session.enqueue([{ type: "text", text: "more" }])
    expect(await next.get()).toMatchObject({
      id: next.id,
      sessionId: session.id,
      sequence: 2,
      status: "queued",
    })
    const message = await session.send(turn.id, "also this")
    expect(message.turnId).toBe(turn.id)
    supervisor.settle(ids.sessionId, ids.turnId, { answer: 42 })
    expect(await turn.wait({ timeoutMs: 5_000 })).toEqual({
      status: "settled",
      outcome: { status: "completed", result: { answer: 42 } },
    })
    expect(await next.wait({ timeoutMs: 1 })).toEqual({ status: "timeout" })
    expect((await session.turns.list()).turns.map((one) => one.id)).toEqual([next.id, turn.id])
    expect(await session.turns.get(turn.id)).toMatchObject({ status: "completed", result: { answer: 42 } })
    const record: unknown = JSON.parse(JSON.stringify(await client.sessions.get(session.id)))
    expect(record).toEqual(expect.objectContaining({ id: session.id, agent: "lead", holds: [] }))
    for (const handle of ["turns", "events", "questions"]) expect(record).not.toHaveProperty(handle)
    const filters = { agent: "lead", status: "open" } as const
    expect((await client.sessions.list(filters)).sessions.map((one) => one.id)).toEqual([session.id])
    expect((await client.sessions.list({ agent: "worker" })).sessions).toEqual([])
    expect(await session.cancel()).toEqual({ sessionId: session.id, status: "closed" })
    const page = await session.events.list({ limit: 3 })
    expect(page.events.map(({ type }) => type)).toEqual([
      "session_created",
      "turn_queued",
      "process_starting",
    ])
    expect(page.more).toBe(true)
  })

  test("the same start under the same key is one Session, another one under it a conflict", async () => {
    const options = { input: "go", idempotencyKey: "mine", sessionKey: "support" }
    const [one, two] = await Promise.all([
      client.agents.start("lead", options),
      client.agents.start("lead", options),
    ])
    expect([two.session.id, two.turn.id]).toEqual([one.session.id, one.turn.id])
    const error = await failureOf(client.agents.start("lead", { ...options, input: "else" }))
    expect(error).toMatchObject({ code: "idempotency_conflict", status: 409, idempotencyKey: "mine" })
    expect((await client.sessions.list({ key: "support" })).sessions).toHaveLength(1)
  })

  test("an interrupt holds, and a resume releases exactly that hold", async () => {
    const { session, run } = await started()
    run()
    const interrupted = await session.interrupt()
    const [hold] = (await client.sessions.get(session.id)).holds
    expect([hold?.id, hold?.kind, hold?.canRelease]).toEqual([interrupted.holdId, "interrupt", true])
    const resumed = await session.resume(interrupted.holdId ?? "")
    expect([resumed.status, resumed.holdId]).toEqual(["accepted", interrupted.holdId])
    expect((await client.sessions.get(session.id)).holds).toEqual([])
    expect(await failureOf(session.resume(id("hld", 99)))).toMatchObject({ code: "not_found" })
    expect(await failureOf(session.resume("mine"))).toMatchObject({
      code: "invalid_arguments",
      field: "holdId",
    })
  })

  test("a running Turn alone is interrupted, and leaves no hold", async () => {
    const { session, turn, run } = await started()
    run()
    expect(await turn.interrupt()).toMatchObject({ status: "accepted", turnId: turn.id })
    expect((await client.sessions.get(session.id)).holds).toEqual([])
  })

  test("a question is listed and answered once", async () => {
    const { session, turn, run, ids } = await started()
    const supervisor = run()
    const generation = supervisor.generation(ids.sessionId)
    const requestId = rig.ports.newId("req")
    const question = text("blue or red?")
    supervisor.emit({ type: "question", ...ids, generation, requestId, question })
    const [asked] = (await session.questions.list()).questions
    expect(asked).toMatchObject({ sessionId: session.id, turnId: turn.id, question })
    const questionId = asked?.id ?? ""
    expect(await session.questions.answer(questionId, "blue")).toEqual({ questionId, status: "answered" })
    expect((await session.questions.list()).questions).toEqual([])
    expect(await failureOf(session.questions.answer(questionId, "red"))).toMatchObject({ status: 404 })
  })

  test("a Computer is created, listed with its Sessions, kept while it is used, and deleted", async () => {
    const { computerId } = await client.computers.create("basic")
    const { session } = await client.agents.start("lead", { input: "go", computerId })
    expect((await client.computers.sessions(computerId)).sessions.map((one) => one.id)).toEqual([session.id])
    expect((await client.computers.list({ status: "available" })).computers.map((one) => one.id)).toEqual([
      computerId,
    ])
    expect(await failureOf(client.computers.delete(computerId))).toMatchObject({ code: "computer_in_use" })
    await session.cancel()
    const deleted = await client.computers.delete(computerId, { idempotencyKey: "gone" })
    expect(deleted.computerId).toBe(computerId)
    expect(await client.computers.delete(computerId, { idempotencyKey: "gone" })).toEqual(deleted)
  })

  test("content that is none is refused by code, and nothing is started", async () => {
    for (const [input, code] of [
      [[{ type: "image", text: "x" }], "content_kind_unsupported"],
      [7, "invalid_arguments"],
      [{ type: "text" }, "invalid_arguments"],
    ] as const)
      expect(await failureOf(client.agents.start("lead", { input: input as never }))).toMatchObject({ code })
    const huge = failureOf(client.agents.start("lead", { input: "x".repeat(2_000_000) }))
    expect(await huge).toMatchObject({ code: "request_too_large", status: 413 })
    expect(await failureOf(client.agents.start("absent", { input: "x" }))).toMatchObject({
      code: "target_not_published",
    })
    expect((await client.sessions.list()).sessions).toEqual([])
  })
})

describe("authority", () => {
  type Use = (client: HelmrClient) => Promise<unknown>
  const session = (given: HelmrClient) => given.sessions.handle(id("ses"))
  const uses: Readonly<Record<Permission, readonly Use[]>> = {
    "deployments:read": [
      (one) => one.deployments.list(),
      (one) => one.deployments.current(),
      (one) => one.deployments.get(id("dep")),
      (one) => one.agents.list(),
      (one) => one.agents.get("lead"),
      (one) => one.templates.list(),
      (one) => one.templates.get("basic"),
    ],
    "deployments:write": [(one) => one.deployments.publish({ archive: new Uint8Array(512) })],
    "computers:read": [(one) => one.computers.list(), (one) => one.computers.get(id("cmp"))],
    "computers:write": [(one) => one.computers.create("basic"), (one) => one.computers.delete(id("cmp"))],
    "sessions:read": [
      (one) => one.sessions.list(),
      (one) => one.sessions.get(id("ses")),
      (one) => one.computers.sessions(id("cmp")),
      (one) => session(one).turns.list(),
      (one) => session(one).turns.get(id("trn")),
      (one) => session(one).turn(id("trn")).get(),
      (one) => session(one).turn(id("trn")).wait(),
      (one) => session(one).events.list(),
      (one) => Array.fromAsync(session(one).events.stream()),
      (one) => session(one).questions.list(),
    ],
    "sessions:write": [
      (one) => one.agents.start("lead", { input: "x" }),
      (one) => session(one).enqueue("x"),
      (one) => session(one).send(id("trn"), "x"),
      (one) => session(one).turn(id("trn")).send("x"),
      (one) => session(one).turn(id("trn")).interrupt(),
      (one) => session(one).interrupt(),
      (one) => session(one).resume(id("hld")),
      (one) => session(one).close(),
      (one) => session(one).cancel(),
      (one) => session(one).questions.answer(id("qst"), "x"),
    ],
  }
  const permissions = Object.keys(uses) as readonly Permission[]

  test.each(permissions)(
    "every method that needs %s is refused to a key without it, which the error names",
    async (needed) => {
      const lacking = clientWith(rig.client(permissions.filter((one) => one !== needed)))
      for (const use of uses[needed]) {
        const error = await failureOf(use(lacking))
        expect(error).toMatchObject({ name: "HelmrApiError", code: "permission_denied", status: 403 })
        expect(String(error)).toContain(needed)
      }
    },
  )

  test.each(permissions)("a key with %s alone is refused nothing of that", async (needed) => {
    rig.publish(["lead"])
    const fitting = clientWith(rig.client([needed]))
    for (const use of uses[needed]) {
      const failed = await use(fitting).then(
        () => undefined,
        (error) => error,
      )
      expect(["unauthorized", "permission_denied"]).not.toContain(failed?.code)
    }
  })

  test("R238 R245 a revoked key is refused its next read and input, and its stream ends with that", async () => {
    rig.publish(["lead"])
    const { session: live } = await started()
    const seen: string[] = []
    const arrived = Promise.withResolvers<void>()
    const follow = async () => {
      for await (const { type } of live.events.stream()) {
        seen.push(type)
        arrived.resolve()
      }
    }
    const over = failureOf(follow())
    await arrived.promise
    rig.receiver.keys.revoke(api.keyId)
    expect(await over).toMatchObject({ code: "unauthorized", status: 401 })
    for (const use of [() => client.sessions.get(live.id), () => live.enqueue("more"), () => live.close()])
      expect(await failureOf(use())).toMatchObject({ code: "unauthorized", status: 401 })
    expect(await clientWith(rig.client()).sessions.get(live.id)).toMatchObject({ status: "open" })
  })

  test("R256 what belongs to another Environment fails exactly like what does not exist", async () => {
    rig.publish(["lead"])
    const { session: live, turn } = await started()
    const { computerId, deploymentId } = await client.sessions.get(live.id)
    rig.publish(["lead"], undefined, other)
    const stranger = clientWith(rig.client(permissions, other))
    const told = async (use: Promise<unknown>) => {
      const { code, message, field, status } = (await failureOf(use)) as never
      return { code, message, field, status }
    }
    const pairs: readonly (readonly [(name: string) => Promise<unknown>, string, string])[] = [
      [(name) => stranger.sessions.get(name), live.id, id("ses", 7)],
      [(name) => stranger.sessions.handle(name).close({ idempotencyKey: name }), live.id, id("ses", 7)],
      [(name) => Array.fromAsync(stranger.sessions.handle(name).events.stream()), live.id, id("ses", 7)],
      [(name) => stranger.sessions.handle(live.id).turn(name).wait(), turn.id, id("trn", 7)],
      [(name) => stranger.computers.get(name), computerId, id("cmp", 7)],
      [(name) => stranger.deployments.get(name), deploymentId, id("dep", 7)],
      [(name) => stranger.agents.get("lead", { deploymentId: name }), deploymentId, id("dep", 7)],
    ]
    for (const [use, foreign, random] of pairs) {
      const answer = await told(use(foreign))
      expect(answer).toMatchObject({ code: "not_found", status: 404 })
      expect(answer).toEqual(await told(use(random)))
    }
  })
})
