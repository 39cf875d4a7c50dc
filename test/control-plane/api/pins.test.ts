import { afterAll, beforeAll, expect, test } from "bun:test"
import { Scope } from "@computerd/protocol/scope"
import { defaultMaximum } from "@computerd/runtime-mcp/policy/scope"
import { agentOf, freshKey, templateOf, text } from "../rig.ts"
import { type ApiClient, type ApiRig, createRig, other } from "./rig.ts"

let rig: ApiRig
let client: ApiClient
beforeAll(async () => {
  rig = await createRig()
  client = rig.client()
})
afterAll(() => rig.close())

const open = { blockAll: false }
const closed = { blockAll: true }

test("R249 R253 a Computer shows its own Template and Deployment, whatever runs on it", async () => {
  const first = rig.publish(["lead"], [templateOf("basic"), templateOf("wide")])
  const made = await client.post("/v1/computers", {
    template: "wide",
    idempotencyKey: freshKey(),
    key: "mine",
  })
  expect(made.status).toBe(201)
  const { computerId } = made.body
  const second = rig.publish(["lead"], [templateOf("basic")])
  const placed = await rig.start(client, "lead", { computerId })

  const computer = await client.get(`/v1/computers/${computerId}`)
  expect(computer.body).toMatchObject({ template: "wide", deploymentId: first, key: "mine" })
  const session = await client.get(`/v1/sessions/${placed.sessionId}`)
  expect(session.body).toMatchObject({
    agent: "lead",
    template: "basic",
    deploymentId: second,
    computerId,
  })
  const members = await client.get(`/v1/computers/${computerId}/sessions`)
  expect(members.body.sessions.map((one: { id: string }) => one.id)).toEqual([placed.sessionId])
})

test("R252 an Agent that left its maximum out reads at its pin as explicit rules", async () => {
  const keys = ["lead", "worker"]
  const maximum = defaultMaximum(keys)
  const old = rig.publish([agentOf("lead", { runtimeMcp: Scope.parse(maximum) }), agentOf("worker")])
  const { sessionId } = await rig.start(client)
  rig.publish([agentOf("lead"), agentOf("worker"), agentOf("later")])

  const { agent, deploymentId } = (await client.get(`/v1/sessions/${sessionId}`)).body
  expect(deploymentId).toBe(old)
  const pinned = await client.get(`/v1/agents/${agent}?deploymentId=${deploymentId}`)
  if (maximum.kind !== "finite") throw new Error("a published maximum is finite")
  expect(pinned.body.runtimeMcp).toEqual({ allow: maximum.allow })
  const current = await client.get(`/v1/agents/${agent}`)
  expect(current.body.runtimeMcp).toEqual({ allow: [] })
})

test("R250 R251 a Template reads at its pin with resolved policies, full blocking where there is no callback", async () => {
  const pin = rig.publish(["lead"], [templateOf("basic", { network: open, prepareNetwork: closed })])
  rig.publish(["lead"], [templateOf("basic", { network: closed, hasPrepare: true, prepareNetwork: open })])
  const before = await client.get(`/v1/templates/basic?deploymentId=${pin}`)
  expect(before.body).toMatchObject({
    id: "basic",
    deploymentId: pin,
    network: open,
    prepareNetwork: closed,
    prepareSecrets: [],
  })
  const now = await client.get("/v1/templates/basic")
  expect(now.body).toMatchObject({ network: closed, prepareNetwork: open })
})

test("R240 R241 a start takes the current Deployment, and later work keeps the Session's own", async () => {
  const first = rig.publish(["lead"])
  const { sessionId } = await rig.start(client)
  const second = rig.publish(["lead"])
  const next = await rig.start(client)
  const queued = await client.post(`/v1/sessions/${sessionId}/enqueue`, {
    input: text("more"),
    idempotencyKey: freshKey(),
  })
  expect(queued.body).toMatchObject({ sessionId, sequence: 2 })
  expect((await client.get(`/v1/sessions/${sessionId}`)).body.deploymentId).toBe(first)
  expect((await client.get(`/v1/sessions/${next.sessionId}`)).body.deploymentId).toBe(second)
  const current = await client.get("/v1/deployments/current")
  expect(current.body).toMatchObject({ id: second, current: true, agents: ["lead"], templates: ["basic"] })
})

const randoms = {
  ses: "ses_01900000-0000-7000-8000-fffffffffff0",
  trn: "trn_01900000-0000-7000-8000-fffffffffff1",
  cmp: "cmp_01900000-0000-7000-8000-fffffffffff2",
  dep: "dep_01900000-0000-7000-8000-fffffffffff3",
  hld: "hld_01900000-0000-7000-8000-fffffffffff4",
}

test("R256 ids of another Environment and ids of nothing get identical bodies", async () => {
  const dep = rig.publish(["lead"], undefined, other)
  const theirs = rig.client(undefined, other)
  const { sessionId, turnId } = await rig.start(theirs)
  const { computerId } = (await theirs.get(`/v1/sessions/${sessionId}`)).body
  const held = await theirs.post(`/v1/sessions/${sessionId}/interrupt`, { idempotencyKey: "hold" })
  const real = { ses: sessionId, trn: turnId, cmp: computerId, dep, hld: held.body.holdId }
  const key = (): string => freshKey()

  const paths = (id: typeof randoms): readonly (readonly [string, unknown?])[] => [
    [`/v1/sessions/${id.ses}`],
    [`/v1/sessions/${id.ses}/turns`],
    [`/v1/sessions/${id.ses}/turns/${id.trn}`],
    [`/v1/sessions/${id.ses}/turns/${id.trn}/wait?timeoutMs=1`],
    [`/v1/sessions/${id.ses}/events`],
    [`/v1/sessions/${id.ses}/events/stream`],
    [`/v1/sessions/${id.ses}/questions`],
    [`/v1/sessions/${id.ses}/enqueue`, { input: text("x"), idempotencyKey: key() }],
    [`/v1/sessions/${id.ses}/turns/${id.trn}/send`, { message: text("x"), idempotencyKey: key() }],
    [`/v1/sessions/${id.ses}/interrupt`, { idempotencyKey: key() }],
    [`/v1/sessions/${id.ses}/interrupt`, { turnId: id.trn, idempotencyKey: key() }],
    [`/v1/sessions/${id.ses}/resume`, { holdId: id.hld, idempotencyKey: key() }],
    [`/v1/sessions/${id.ses}/close`, { idempotencyKey: key() }],
    [`/v1/sessions/${id.ses}/cancel`, { idempotencyKey: key() }],
    [`/v1/sessions?parentSessionId=${id.ses}`],
    [`/v1/computers/${id.cmp}`],
    [`/v1/computers/${id.cmp}/sessions`],
    [`/v1/sessions`, { agent: "lead", computerId: id.cmp, input: text("x"), idempotencyKey: key() }],
    [`/v1/deployments/${id.dep}`],
    [`/v1/agents?deploymentId=${id.dep}`],
    [`/v1/agents/lead?deploymentId=${id.dep}`],
    [`/v1/templates/basic?deploymentId=${id.dep}`],
  ]
  const foreign = paths(real)
  for (const [index, [path, body]] of paths(randoms).entries()) {
    const [foreignPath, foreignBody] = foreign[index]!
    const ask = (at: string, sent: unknown) => (sent === undefined ? client.get(at) : client.post(at, sent))
    const [random, known] = [await ask(path, body), await ask(foreignPath, foreignBody)]
    expect([foreignPath, known.status, known.text]).toEqual([foreignPath, random.status, random.text])
  }
  const gone = await client.delete(`/v1/computers/${randoms.cmp}?idempotencyKey=a`)
  expect((await client.delete(`/v1/computers/${computerId}?idempotencyKey=b`)).text).toBe(gone.text)
  expect((await theirs.get(`/v1/sessions/${sessionId}`)).body.status).toBe("open")
})
