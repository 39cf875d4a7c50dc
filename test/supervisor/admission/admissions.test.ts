import { afterEach, expect, test } from "bun:test"
import type { AdmissionAnswer } from "@computerd/protocol/link"
import {
  createAdmissionJournal,
  openEntriesMax,
  settledEntriesKept,
} from "@computerd/supervisor/admission/journal"
import {
  attached,
  codeOf,
  createStation,
  messageOf,
  ports,
  request,
  type Station,
  type StationOptions,
  settledAdmissions,
} from "../link/station.ts"

let stations: Station[] = []
const station = async (options: StationOptions = {}): Promise<Station> => {
  const made = createStation(options)
  stations.push(made)
  if (options.start !== "later") await attached(made)
  return made
}

afterEach(async () => {
  const closing = stations
  stations = []
  for (const one of closing) await one.close()
})

const forEver = new AbortController().signal
const spawn = (key: string) => request("spawn", { agent: "helper", input: [], idempotencyKey: key })
const child: AdmissionAnswer = { ok: true, value: { sessionId: "s", turnId: "t", sequence: 1 } }
const settled = (one: Station, count: number): Promise<void> =>
  one.controlPlane.until(() => settledAdmissions(one).settled === count, `${count} settled admissions`)

test("a mutation is journalled before it leaves and settled with its answer", async () => {
  const one = await station()
  const statesWhenSent: (readonly string[])[] = []
  one.controlPlane.answer = () => {
    statesWhenSent.push(one.admissionStates())
    return child
  }
  expect(await one.admissions.invoke(spawn("k1"), forEver)).toEqual(child)
  expect(statesWhenSent).toEqual([["sent"]])
  expect(one.admissionStates()).toEqual(["admitted"])
})

test("a refusal is settled with its code and passed on as it is", async () => {
  const one = await station()
  const refused: AdmissionAnswer = {
    ok: false,
    error: { code: "runtime_mcp_denied", message: "not granted" },
  }
  one.controlPlane.answer = () => refused
  expect(await one.admissions.invoke(spawn("k1"), forEver)).toEqual(refused)
  expect(one.admissionStates()).toEqual(["refused"])
})

test("R173 with the link down nothing is sent or journalled, and the caller may retry freely", async () => {
  const one = await station({ start: "later" })
  for (const tool of ["spawn", "inspect_session"]) {
    const answer = await one.admissions.invoke(request(tool, { idempotencyKey: "k" }), forEver)
    expect(codeOf(answer)).toBe("admission_unavailable")
    expect(messageOf(answer)).toContain("nothing was sent")
  }
  expect(one.admissionStates()).toEqual([])
  expect(one.admissions.size).toBe(0)
})

test("a journal full of unknown outcomes takes no further call until some are known", async () => {
  const one = await station({ start: "later" })
  const journal = createAdmissionJournal(one.store, ports.clock)
  const write = (): void => {
    const requestId = ports.newId("req")
    journal.write(requestId, spawn("k"), "k")
  }
  one.store.transaction(() => {
    for (let count = 0; count < openEntriesMax; count += 1) write()
  })
  journal.doubt()
  expect(write).toThrow("is unknown")
  const [known] = journal.uncertain(1)
  journal.settle(known!.requestId, undefined)
  write()
})

test("R175 a link that breaks after the commit leaves the outcome unknown, and the retry finds the receipt", async () => {
  const one = await station()
  let decided = 0
  one.controlPlane.answer = () => {
    decided += 1
    return child
  }
  one.controlPlane.hooks.admit = (frame, connection) => {
    one.controlPlane.decide(frame)
    connection.cut()
    return "handled"
  }
  const answer = await one.admissions.invoke(spawn("k1"), forEver)
  expect(codeOf(answer)).toBe("admission_unavailable")
  expect(messageOf(answer)).toContain("outcome is unknown")
  expect(messageOf(answer)).toContain("same idempotencyKey")
  one.controlPlane.hooks.admit = undefined
  await settled(one, 1)
  expect(one.admissionStates()).toEqual(["admitted"])
  // The supervisor asked for the receipt and repeated nothing by itself.
  expect(one.controlPlane.count("receipt").map((frame) => frame.idempotencyKey)).toEqual(["k1"])
  expect(one.controlPlane.count("admit").length).toBe(1)
  expect(await one.admissions.invoke(spawn("k1"), forEver)).toEqual(child)
  expect(decided).toBe(1)
})

test("an admission that never reached a decision is settled as absent", async () => {
  const one = await station()
  one.controlPlane.hooks.admit = (_, connection) => {
    connection.cut()
    return "handled"
  }
  await one.admissions.invoke(spawn("k1"), forEver)
  await settled(one, 1)
  expect(one.admissionStates()).toEqual(["absent"])
})

test("more uncertain admissions than are asked for at once are all reconciled", async () => {
  const one = await station()
  one.controlPlane.hooks.admit = (frame) => {
    one.controlPlane.decide(frame)
    return "handled"
  }
  const answers = Array.from({ length: 100 }, (_, index) =>
    one.admissions.invoke(spawn(`k${index}`), forEver),
  )
  await one.controlPlane.until(() => one.controlPlane.count("admit").length === 100, "100 admissions")
  one.controlPlane.cut()
  for (const answer of await Promise.all(answers)) expect(messageOf(answer)).toContain("outcome is unknown")
  await settled(one, 100)
  expect(new Set(one.admissionStates())).toEqual(new Set(["admitted"]))
})

test("a receipt whose answer is lost is asked for again after the next attachment", async () => {
  const one = await station()
  one.controlPlane.hooks.admit = (frame, connection) => {
    one.controlPlane.decide(frame)
    connection.cut()
    return "handled"
  }
  let cuts = 0
  one.controlPlane.hooks.receipt = (_, connection) => {
    cuts += 1
    if (cuts > 2) return undefined
    connection.cut()
    return "handled"
  }
  await one.admissions.invoke(spawn("k1"), forEver)
  await settled(one, 1)
  expect(one.controlPlane.count("receipt").length).toBe(3)
})

test("a receipt that the store cannot take keeps the link, and is asked for again after the next attachment", async () => {
  const one = await station()
  one.controlPlane.hooks.admit = (frame, connection) => {
    one.controlPlane.decide(frame)
    connection.cut()
    return "handled"
  }
  one.store.database.run(
    `CREATE TRIGGER no_room BEFORE UPDATE ON admissions WHEN NEW.state = 'admitted'
       BEGIN SELECT RAISE(ABORT, 'database or disk is full'); END`,
  )
  await one.admissions.invoke(spawn("k1"), forEver)
  one.controlPlane.hooks.admit = undefined
  const failures = () => one.entries.filter(({ event }) => event === "store_write_failed").length
  await one.controlPlane.until(() => one.controlPlane.count("receipt").length === 1, "a receipt")
  // The link answers after the receipt did: it was not ended by it.
  expect(await one.admissions.invoke(request("inspect_session", { sessionId: "s" }), forEver)).toBeDefined()
  expect([failures(), one.link.status().state, one.controlPlane.connections]).toEqual([1, "attached", 1])
  expect(one.admissionStates()).toEqual(["uncertain"])

  one.store.database.run("DROP TRIGGER no_room")
  one.controlPlane.cut()
  await settled(one, 1)
  expect(one.admissionStates()).toEqual(["admitted"])
})

test("what an earlier supervisor left unanswered is reconciled by the next", async () => {
  const first = await station()
  first.controlPlane.hooks.admit = (frame) => {
    first.controlPlane.decide(frame)
    return "handled"
  }
  void first.admissions.invoke(spawn("k1"), forEver)
  await first.controlPlane.until(() => first.controlPlane.count("admit").length === 1, "the admission")
  stations = []
  await first.kill()
  const second = await station({ directory: first.directory, controlPlane: first.controlPlane })
  await settled(second, 1)
  expect(second.admissionStates()).toEqual(["admitted"])
})

test("a read that was under way is sent again after a cut and answered", async () => {
  const one = await station()
  let seen = 0
  one.controlPlane.hooks.admit = (_, connection) => {
    seen += 1
    if (seen > 1) return undefined
    connection.cut()
    return "handled"
  }
  one.controlPlane.answer = () => ({ ok: true, value: { id: "s" } })
  const answer = await one.admissions.invoke(request("inspect_session", { sessionId: "s" }), forEver)
  expect(answer).toEqual({ ok: true, value: { id: "s" } })
  expect(one.controlPlane.count("admit").length).toBe(2)
})

test("wait_turn keeps its own deadline while the link is down, and then only says that it is over", async () => {
  const one = await station()
  one.controlPlane.hooks.admit = () => "handled"
  const startedAt = performance.now()
  const answer = one.admissions.invoke(request("wait_turn", { timeoutMs: 400 }), forEver)
  await one.controlPlane.until(() => one.controlPlane.count("admit").length === 1, "the wait")
  await one.controlPlane.down()
  expect(await answer).toEqual({ ok: true, value: { status: "timeout" } })
  const tookMs = performance.now() - startedAt
  expect(tookMs).toBeGreaterThanOrEqual(395)
  expect(tookMs).toBeLessThan(1_500)
})

test("wait_turn that begins with the link down is carried out once it is up, for the time that is left", async () => {
  const one = await station()
  const port = await one.controlPlane.down()
  await one.controlPlane.until(() => one.link.status().state === "backing_off", "a backoff")
  one.controlPlane.answer = () => ({
    ok: true,
    value: { status: "settled", outcome: { status: "completed" } },
  })
  const answer = one.admissions.invoke(request("wait_turn", { timeoutMs: 5_000 }), forEver)
  one.controlPlane.up(port)
  expect(await answer).toMatchObject({ ok: true, value: { status: "settled" } })
  const { timeoutMs: sent } = one.controlPlane.count("admit")[0]!.request.arguments
  expect(sent).toBeGreaterThan(1_000)
  expect(sent).toBeLessThan(5_000)
})

test("R43 a caller that goes away is told to the control plane, and the mutation is still settled", async () => {
  const one = await station()
  const caller = new AbortController()
  let held: (() => void) | undefined
  one.controlPlane.hooks.admit = (frame, connection) => {
    held = () => one.controlPlane.admit(frame, connection)
    return "handled"
  }
  one.controlPlane.answer = () => child
  const answer = one.admissions.invoke(spawn("k1"), caller.signal)
  await one.controlPlane.until(() => held !== undefined, "the admission")
  caller.abort()
  expect(codeOf(await answer)).toBe("admission_unavailable")
  await one.controlPlane.until(() => one.controlPlane.count("abandon").length === 1, "an abandon frame")
  expect(one.admissionStates()).toEqual(["sent"])
  held?.()
  await settled(one, 1)
  expect(one.admissionStates()).toEqual(["admitted"])
  expect(one.admissions.size).toBe(0)
})

test("an abandoned read leaves the table at once", async () => {
  const one = await station()
  one.controlPlane.hooks.admit = () => "handled"
  const caller = new AbortController()
  const answer = one.admissions.invoke(request("list_sessions", { relation: "owned" }), caller.signal)
  await one.controlPlane.until(() => one.controlPlane.count("admit").length === 1, "the read")
  caller.abort()
  await answer
  expect(one.admissions.size).toBe(0)
  await one.controlPlane.until(() => one.controlPlane.count("abandon").length === 1, "an abandon frame")
})

test("R36 an admission that nobody answers is answered here, before clients give up", async () => {
  const one = await station({ ports: { ...ports, timers: quick } })
  one.controlPlane.hooks.admit = () => "handled"
  const mutation = await one.admissions.invoke(spawn("k1"), forEver)
  expect(messageOf(mutation)).toContain("outcome is unknown")
  const read = await one.admissions.invoke(request("inspect_session", {}), forEver)
  expect(codeOf(read)).toBe("admission_unavailable")
  expect(messageOf(read)).toContain("nothing was changed")
  // The mutation may still be decided: its entry waits for that.
  expect(one.admissionStates()).toEqual(["sent"])
})

test("a duplicated or late answer changes nothing", async () => {
  const one = await station()
  one.controlPlane.hooks.admit = (frame, connection) => {
    one.controlPlane.admit(frame, connection)
    connection.send({
      kind: "admitted",
      requestId: frame.requestId,
      answer: { ok: true, value: { twice: true } },
    })
    return "handled"
  }
  one.controlPlane.answer = () => child
  expect(await one.admissions.invoke(spawn("k1"), forEver)).toEqual(child)
  await one.controlPlane.until(() => one.controlPlane.connections === 1, "the link")
  expect(one.admissionStates()).toEqual(["admitted"])
})

test("what the caller does to its arguments after the call changes nothing that was sent", async () => {
  const one = await station()
  const call = spawn("k1")
  const answer = one.admissions.invoke(call, forEver)
  Object.assign(call.arguments, { agent: "other" })
  await answer
  expect(one.controlPlane.count("admit")[0]?.request.arguments).toMatchObject({ agent: "helper" })
})

test("closing answers everybody and takes nothing new", async () => {
  const one = await station()
  one.controlPlane.hooks.admit = () => "handled"
  const open = [
    one.admissions.invoke(spawn("k1"), forEver),
    one.admissions.invoke(request("wait_turn", { timeoutMs: 30_000 }), forEver),
    one.admissions.invoke(request("inspect_turn", {}), forEver),
  ]
  one.admissions.close()
  expect((await Promise.all(open)).map(codeOf)).toEqual(Array(3).fill("admission_unavailable"))
  expect(codeOf(await one.admissions.invoke(spawn("k2"), forEver))).toBe("admission_unavailable")
  expect(one.admissions.size).toBe(0)
})

test("the table is bounded, and what does not fit is refused before it is sent", async () => {
  const one = await station()
  one.controlPlane.hooks.admit = () => "handled"
  for (let count = 0; count < 4_096; count += 1)
    void one.admissions.invoke(request("inspect_turn", {}), forEver)
  const refused = await one.admissions.invoke(spawn("k1"), forEver)
  expect(messageOf(refused)).toContain("nothing was sent")
  expect(one.admissionStates()).toEqual([])
})

test("settled entries are pruned and open ones are not", async () => {
  const one = await station()
  one.controlPlane.answer = () => child
  const keys = Array.from({ length: settledEntriesKept + 150 }, (_, index) => `k${index}`)
  await Promise.all(keys.map((key) => one.admissions.invoke(spawn(key), forEver)))
  one.controlPlane.hooks.admit = () => "handled"
  void one.admissions.invoke(spawn("open"), forEver)
  const { open, settled: kept } = settledAdmissions(one)
  expect(open).toBe(1)
  expect(kept).toBeGreaterThanOrEqual(settledEntriesKept)
  expect(kept).toBeLessThan(settledEntriesKept + 100)
})

test("a store that cannot take the entry keeps the mutation on this Computer", async () => {
  const one = await station()
  one.store.database.run("DROP TABLE admissions")
  const answer = await one.admissions.invoke(spawn("k1"), forEver)
  expect(messageOf(answer)).toContain("nothing was sent")
  expect(one.controlPlane.count("admit").length).toBe(0)
})

/** A tool call is awaited for 55 s; here that is 100 ms. */
const quick: typeof ports.timers = {
  ...ports.timers,
  after: (delayMs, fire) => ports.timers.after(delayMs > 50_000 && delayMs < 56_000 ? 100 : delayMs, fire),
}
