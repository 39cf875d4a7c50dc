/** Which supervisor owns a Computer, and what it is told when it attaches. */
import { expect, test } from "bun:test"
import { ComputerId, Epoch } from "@computerd/protocol/ids"
import {
  bootComputerOf,
  code,
  computerOf,
  createSupervisor,
  environment,
  freshKey,
  startRoot,
  text,
  value,
} from "../rig.ts"
import {
  ask,
  begin,
  call,
  delegate,
  dispatched,
  eachTest,
  enqueue,
  finish,
  inspect,
  seen,
  statusOf,
  turnSeen,
} from "./scene.ts"

const rig = eachTest()

const refusal = (result: { readonly ok: boolean; readonly error?: { readonly code: string } }): string =>
  result.ok ? "ok" : (result.error?.code ?? "")

test("each attach gets a new epoch, and frames of an older one are superseded", async () => {
  rig().publish(["lead"])
  const root = startRoot(rig(), "lead")
  const { supervisor } = root
  const older = supervisor.epoch()
  supervisor.attach()
  expect(supervisor.epoch()).toBe(Epoch.parse(older + 1))
  const event = { type: "released" as const, sessionId: root.sessionId }
  expect(refusal(rig().receiver.event(supervisor.computerId, older, 4, 0, event))).toBe("superseded")
  expect(refusal(rig().receiver.renew(supervisor.computerId, older))).toBe("superseded")
  expect(rig().receiver.receipt(supervisor.computerId, older, root.sessionId, "k")).toMatchObject({
    error: { code: "superseded" },
  })
  expect(
    code(await call(root, "enqueue", { sessionId: root.sessionId, input: [], idempotencyKey: "k" })),
  ).toBe("ok")
})

test("another store waits for the lease: it attaches when the lease has lapsed or was given back", () => {
  rig().publish(["lead"])
  const root = startRoot(rig(), "lead")
  const other = () => createSupervisor(rig(), root.supervisor.computerId).attach()
  expect(refusal(other())).toBe("admission_unavailable")
  rig().advance(59_000)
  expect(refusal(other())).toBe("admission_unavailable")
  rig().advance(1_001)
  expect(refusal(other())).toBe("ok")
  const again = createSupervisor(rig(), root.supervisor.computerId)
  rig().receiver.detach(root.supervisor.computerId, Epoch.parse(2))
  expect(refusal(again.attach())).toBe("ok")
})

test("a clock that leaps while the control plane is down neither ends a lease early nor keeps others out for long", async () => {
  rig().publish(["lead"])
  const { supervisor } = startRoot(rig(), "lead")
  const other = () => createSupervisor(rig(), supervisor.computerId).attach()
  for (const leapMs of [7_200_000, -7_200_000]) {
    await rig().receiver.close()
    rig().advance(leapMs)
    await rig().restart()
    expect(refusal(other())).toBe("admission_unavailable")
    rig().advance(60_001)
    expect(refusal(other())).toBe("ok")
  }
})

test("a renewed lease keeps another store out for as long as it is renewed", () => {
  rig().publish(["lead"])
  const root = startRoot(rig(), "lead")
  for (let renewals = 0; renewals < 20; renewals += 1) {
    rig().advance(15_000)
    expect(rig().receiver.renew(root.supervisor.computerId, root.supervisor.epoch())).toMatchObject({
      ok: true,
    })
  }
  expect(refusal(createSupervisor(rig(), root.supervisor.computerId).attach())).toBe("admission_unavailable")
})

test("a wrong Computer, an unknown one and another protocol are refused for good", () => {
  rig().publish(["lead"])
  const root = startRoot(rig(), "lead")
  const { computerId } = root.supervisor
  const frame = {
    kind: "attach" as const,
    protocol: 1,
    computerId,
    bootId: "b",
    storeId: rig().ports.newId("str"),
    lastEpoch: 0,
    received: 0,
    version: "0",
    processes: [],
  }
  const unknown = ComputerId.parse("cmp_01900000-0000-7000-8000-fffffffffff0")
  expect(refusal(rig().receiver.attach(computerId, { ...frame, protocol: 2 }))).toBe("unsupported_protocol")
  expect(refusal(rig().receiver.attach(computerId, { ...frame, computerId: unknown }))).toBe("unauthorized")
  expect(refusal(rig().receiver.attach(unknown, { ...frame, computerId: unknown }))).toBe("unauthorized")
})

test("events are applied once and in order: a repeat is ok and does nothing, a gap is refused", () => {
  rig().publish(["lead"])
  const root = startRoot(rig(), "lead", false)
  const { supervisor, sessionId, turnId } = root
  const generation = supervisor.generation(sessionId)
  const started = { type: "turn_started" as const, sessionId, generation, turnId }
  const send = (seq: number) =>
    rig().receiver.event(supervisor.computerId, supervisor.epoch(), seq, 0, started)
  expect(refusal(send(5))).toBe("invalid_frame")
  expect(statusOf(rig(), root)).toBe("queued")
  expect([refusal(send(3)), refusal(send(3))]).toEqual(["ok", "ok"])
  expect(statusOf(rig(), root)).toBe("running")
})

test("the cursor of a store survives a restart of the control plane and is told at the next attach", async () => {
  rig().publish(["lead"])
  const root = startRoot(rig(), "lead")
  await rig().restart()
  const attached = root.supervisor.attach([
    {
      sessionId: root.sessionId,
      generation: root.supervisor.generation(root.sessionId),
      state: "running",
      turnId: root.turnId,
    },
  ])
  expect(attached).toMatchObject({ ok: true, value: { received: 3, run: [{ turn: { id: root.turnId } }] } })
  expect(statusOf(rig(), root)).toBe("running")
})

test("the answer to an attach is everything that must run; commands that waited are void", async () => {
  rig().publish(["lead", "helper"])
  const root = startRoot(rig(), "lead")
  const child = begin(await delegate(rig(), root, { by: "spawn", agent: "helper" }))
  await ask(root, "interrupt_turn", { sessionId: child.sessionId, turnId: child.turnId })
  const attached = child.supervisor.attach([
    {
      sessionId: child.sessionId,
      generation: child.supervisor.generation(child.sessionId),
      state: "running",
      turnId: child.turnId,
    },
  ])
  if (!attached.ok) throw new Error(attached.error.message)
  expect(attached.value.run).toMatchObject([
    {
      assignment: {
        sessionId: child.sessionId,
        role: "child",
        parent: root.sessionId,
        generation: 1,
        holds: [],
        status: "open",
      },
      turn: { id: child.turnId },
      cancel: "interrupted",
      messages: [],
    },
  ])
  expect(child.supervisor.pull()).toEqual([])
})

test("a store that is new has lost what the old one ran or was given; none of it runs again", () => {
  rig().publish(["lead"])
  const running = startRoot(rig(), "lead")
  const given = startRoot(rig(), "lead", false)
  for (const member of [running, given]) {
    rig().receiver.detach(member.supervisor.computerId, member.supervisor.epoch())
    const fresh = createSupervisor(rig(), member.supervisor.computerId)
    expect(fresh.attach()).toMatchObject({ ok: true, value: { received: 0, run: [{ messages: [] }] } })
    expect(turnSeen(rig(), member)).toMatchObject({ status: "interrupted", error: { code: "process_lost" } })
    expect(fresh.pull().filter((command) => command.type === "dispatch")).toEqual([])
    expect(seen(rig(), member).holds.map((hold) => hold.kind)).toEqual(["recovery"])
  }
})

test("a lost Computer: its Turns settle process_lost, its late supervisor is fenced, others are untouched", async () => {
  rig().publish(["lead", "helper"])
  const root = startRoot(rig(), "lead")
  const child = begin(await delegate(rig(), root, { by: "spawn", agent: "helper" }))
  const wait = call(root, "wait_turn", {
    sessionId: child.sessionId,
    turnId: child.turnId,
    timeoutMs: 30_000,
  })
  rig().receiver.computerLost(child.supervisor.computerId, "supervisor died: signal SIGKILL")
  expect(value(await wait)).toMatchObject({
    status: "settled",
    outcome: { status: "interrupted", error: { code: "process_lost" } },
  })
  expect(refusal(child.supervisor.settle(child.sessionId, child.turnId))).toBe("superseded")
  expect(statusOf(rig(), root)).toBe("running")
  expect(
    rig()
      .receiver.computers()
      .find((one) => one.id === child.supervisor.computerId),
  ).toMatchObject({
    residency: "unavailable",
    error: "supervisor died: signal SIGKILL",
    attached: false,
  })
})

test("R255 a Session whose Computer cannot be made stays queued, and the reason is shown", () => {
  rig().publish(["lead"])
  const started = rig().receiver.startSession({
    environment,
    agent: "lead",
    input: text("go"),
    idempotencyKey: freshKey(),
  })
  if (!started.ok) throw new Error(started.error.message)
  const { sessionId, turnId } = started.value
  rig().receiver.computerState(computerOf(rig(), sessionId), "unavailable", "no such image")
  expect(rig().receiver.turn(sessionId, turnId)).toMatchObject({
    status: "queued",
    waitingFor: "its Computer is unavailable: no such image",
  })
  expect(rig().receiver.computersToRun().length).toBe(1)
  const supervisor = bootComputerOf(rig(), sessionId)
  expect(rig().receiver.turn(sessionId, turnId)?.waitingFor).toBe("its process")
  expect(dispatched({ sessionId, turnId, supervisor })).toEqual([turnId])
})

test("R244 nothing is dispatched to a Computer without a supervisor; a detached one gets its work at the next attach", async () => {
  rig().publish(["lead"])
  const root = startRoot(rig(), "lead")
  finish(root)
  root.supervisor.pull()
  const other = startRoot(rig(), "lead")
  rig().receiver.detach(root.supervisor.computerId, root.supervisor.epoch())
  const queued = await enqueue(other, root)
  expect(dispatched(root)).toEqual([root.turnId])
  root.supervisor.attach()
  expect(dispatched(root)).toEqual([root.turnId, queued])
})

test("commands are numbered, kept until they are acknowledged, and a listener is told of new ones", async () => {
  rig().publish(["lead"])
  const root = startRoot(rig(), "lead")
  const { computerId } = root.supervisor
  finish(root)
  const told: string[] = []
  const stop = rig().receiver.onCommand((id) => told.push(id))
  expect(rig().receiver.commandsAfter(computerId, 0)).toEqual([])
  await enqueue(root, root)
  expect(told).toEqual([computerId])
  const [command] = rig().receiver.commandsAfter(computerId, 0)
  expect(command).toMatchObject({ body: { type: "dispatch" } })
  expect(rig().receiver.commandsAfter(computerId, (command?.seq ?? 0) - 1)).toEqual([command] as never)
  rig().receiver.acknowledge(computerId, command?.seq ?? 0)
  rig().advance(300)
  expect(rig().receiver.commandsAfter(computerId, 0)).toEqual([])
  stop()
  await enqueue(root, root)
  expect(told.length).toBe(1)
})

test("a credential opens its Computer only, and another is registered in its place", () => {
  rig().publish(["lead"])
  const { computerId } = startRoot(rig(), "lead").supervisor
  const digest = (text: string) => new Bun.CryptoHasher("sha256").update(text).digest("hex")
  rig().receiver.registerCredential(computerId, digest("secret"))
  expect(rig().receiver.authenticate("secret")).toBe(computerId)
  expect(rig().receiver.authenticate("Secret")).toBeUndefined()
  expect(rig().receiver.authenticate("")).toBeUndefined()
  rig().receiver.registerCredential(computerId, digest("new"))
  expect([rig().receiver.authenticate("secret"), rig().receiver.authenticate("new")]).toEqual([
    undefined,
    computerId,
  ])
})

test("R222 R223 R253 a child on the caller's Computer keeps that Computer's Template; redeploying changes neither pin", async () => {
  rig().publish(["lead", "helper"])
  const root = startRoot(rig(), "lead")
  const child = await delegate(rig(), root, {
    by: "spawn",
    agent: "helper",
    computerId: root.supervisor.computerId,
  })
  const before = rig().receiver.computers()
  rig().publish(["lead"])
  await rig().restart()
  expect(
    rig()
      .receiver.computers()
      .map((one) => [one.template, one.deploymentId]),
  ).toEqual(before.map((one) => [one.template, one.deploymentId]))
  root.supervisor.attach()
  expect((await inspect(root, child))["computer_id"]).toBe(root.supervisor.computerId)
})
