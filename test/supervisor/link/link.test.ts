import { afterEach, expect, test } from "bun:test"
import { fail, ok } from "@computerd/protocol/errors"
import { Epoch, Generation } from "@computerd/protocol/ids"
import type { LinkCommand, LinkEvent } from "@computerd/protocol/link"
import { leaseTable } from "@computerd/supervisor/store/lease"
import { newAssignment } from "../harness.ts"
import { attached, createStation, ports, type Station, type StationOptions } from "./station.ts"

let stations: Station[] = []
const station = (options?: StationOptions): Station => {
  const made = createStation(options)
  stations.push(made)
  return made
}

afterEach(async () => {
  const closing = stations
  stations = []
  for (const one of closing) await one.close()
})

const sessionId = ports.newId("ses")
const generation = Generation.parse(1)
const starting: LinkEvent = { type: "process_starting", sessionId, generation }
const release = (): LinkCommand => ({ type: "release", sessionId: ports.newId("ses"), graceMs: 0 })
const seqs = (one: Station): number[] => one.controlPlane.applied.map(({ seq }) => seq)

test("events arrive once and in order, under the epoch of the lease, and leave the outbox when acknowledged", async () => {
  const one = station()
  await attached(one)
  for (let count = 0; count < 1_000; count += 1) one.emit(starting)
  await one.controlPlane.until(() => one.controlPlane.received === 1_000, "1000 events")
  expect(seqs(one)).toEqual(Array.from({ length: 1_000 }, (_, index) => index + 1))
  expect(one.controlPlane.applied.every(({ epoch }) => epoch === 1)).toBe(true)
  await one.controlPlane.until(() => one.outbox.unacknowledged() === 0, "an empty outbox")
})

test("events of an outage are kept and arrive once after it, however often the link is cut meanwhile", async () => {
  const one = station()
  await attached(one)
  let seen = 0
  one.controlPlane.hooks.frame = (_, connection) => {
    seen += 1
    if (seen % 40 !== 0) return undefined
    connection.cut()
    return "handled"
  }
  for (let count = 0; count < 200; count += 1) one.emit(starting)
  await one.controlPlane.until(() => one.controlPlane.received === 200, "200 events")
  expect(seqs(one)).toEqual(Array.from({ length: 200 }, (_, index) => index + 1))
})

test("a rolled back transaction leaves neither an event nor a gap", async () => {
  const one = station()
  await attached(one)
  const failing = () =>
    one.store.transaction(() => {
      one.outbox.push(starting)
      throw new Error("no")
    })
  expect(failing).toThrow("no")
  one.emit(starting)
  await one.controlPlane.until(() => one.controlPlane.received === 1, "one event")
  expect(seqs(one)).toEqual([1])
})

test("unacknowledged events do not run ahead of the window", async () => {
  const one = station()
  await attached(one)
  one.controlPlane.acknowledges = false
  one.emit(...Array.from({ length: 2_000 }, () => starting))
  await one.controlPlane.until(() => one.controlPlane.received === 512, "a full window")
  await Bun.sleep(50)
  expect(one.controlPlane.received).toBe(512)
  one.controlPlane.broadcast({ kind: "ack", ack: 512 })
  await one.controlPlane.until(() => one.controlPlane.received === 1_024, "the next window")
})

test("commands are applied once and in order, each with its cursor, and acknowledged after that", async () => {
  const one = station()
  await attached(one)
  const commands = [release(), release(), release()]
  for (const command of commands) one.controlPlane.command(command)
  one.controlPlane.broadcast({ kind: "frame", seq: 2, ack: 0, body: commands[1]! })
  await one.controlPlane.until(() => one.controlPlane.acknowledged === 3, "three acknowledgements")
  expect(one.applied).toEqual(commands)
  expect(leaseTable(one.store.database).received()).toBe(3)
})

test("a command that could not be stored is not acknowledged and comes again", async () => {
  const one = station()
  await attached(one)
  one.failNextApply()
  one.controlPlane.command(release())
  await one.controlPlane.until(() => one.controlPlane.count("attach").length === 2, "a second attach")
  expect(one.controlPlane.count("attach")[1]?.received).toBe(0)
  await attached(one)
  // The real control plane puts what was not applied into the desired state; its cursor covers the command.
  expect(leaseTable(one.store.database).received()).toBe(1)
  expect(one.reconciled.length).toBe(2)
})

test("a gap between commands ends the connection and the next one fills it", async () => {
  const one = station()
  await attached(one)
  one.controlPlane.broadcast({ kind: "frame", seq: 5, ack: 0, body: release() })
  await one.controlPlane.until(() => one.controlPlane.count("attach").length === 2, "a second attach")
  expect(one.applied).toEqual([])
  expect(one.entries.some((entry) => entry.event === "link_ended" && entry.outcome === "out_of_step")).toBe(
    true,
  )
})

test("an invalid frame is logged and answered and breaks nothing", async () => {
  const one = station()
  one.controlPlane.hooks.attach = (_, connection) => {
    queueMicrotask(() => connection.sendText('{"kind":"ack","ack":"many"}'))
    return undefined
  }
  await attached(one)
  await one.controlPlane.until(() => one.controlPlane.count("invalid").length === 1, "a complaint")
  expect(one.controlPlane.count("invalid")[0]?.message).toContain("ack")
  expect(one.entries.some(({ event }) => event === "link_frame_invalid")).toBe(true)
  one.emit(starting)
  await one.controlPlane.until(() => one.controlPlane.received === 1, "an event after it")
  expect(one.controlPlane.count("attach").length).toBe(1)
})

test("a Computer with more Sessions than fit into an ordinary frame attaches like any other", async () => {
  const one = station({ start: "later" })
  const agents = Array.from({ length: 200 }, (_, index) => `agent-${index}-${"x".repeat(60)}`)
  for (let count = 0; count < 500; count += 1) {
    const assignment = newAssignment("probe", { manifestAgents: agents })
    one.controlPlane.desired.set(assignment.sessionId, { assignment, messages: [] })
  }
  one.link.start()
  await attached(one)
  expect(one.reconciled).toEqual([500])
})

test("a superseded supervisor never dials again and its lease has ended", async () => {
  const one = station()
  await attached(one)
  one.controlPlane.refuse({ code: "superseded", message: "another supervisor owns this Computer" })
  await one.controlPlane.until(() => one.link.status().state === "refused", "the refusal")
  expect(one.rejected).toEqual(["superseded"])
  expect(one.lease.state().state).toBe("none")
  expect(one.link.status().lastError).toContain("superseded")
  await Bun.sleep(100)
  expect(one.controlPlane.count("attach").length).toBe(1)
})

test("a credential that the control plane does not know is final when no lease is held", async () => {
  const one = station({ start: "later" })
  one.credential(ok("wrong"))
  one.link.start()
  await one.controlPlane.until(() => one.link.status().state === "refused", "the refusal")
  expect(one.rejected).toEqual(["unauthorized"])
  expect(JSON.stringify(one.link.status())).not.toContain("wrong")
})

test("a credential that is being replaced while the lease is held is read again until it fits", async () => {
  const one = station()
  await attached(one)
  one.credential(ok("stale"))
  one.controlPlane.cut()
  await one.controlPlane.until(() => one.link.status().lastError?.includes("unauthorized") ?? false, "a 401")
  one.credential(fail("invalid_configuration", "credential cannot be read (ENOENT)"))
  await one.controlPlane.until(
    () => one.link.status().lastError?.includes("ENOENT") ?? false,
    "a missing file",
  )
  one.credential(ok("test-credential"))
  await attached(one)
  expect(one.rejected).toEqual([])
})

test("a restarted control plane is found again, the lease is kept meanwhile, and nothing is sent twice", async () => {
  const one = station()
  await attached(one)
  one.emit(starting)
  await one.controlPlane.until(() => one.controlPlane.received === 1, "an event")
  const port = await one.controlPlane.down()
  one.emit(starting, starting)
  await one.controlPlane.until(() => one.link.status().state === "backing_off", "a backoff")
  expect(one.lease.state().state).toBe("held")
  one.controlPlane.epoch = Epoch.parse(2)
  one.controlPlane.up(port)
  await one.controlPlane.until(() => one.controlPlane.received === 3, "the rest", 10_000)
  expect(seqs(one)).toEqual([1, 2, 3])
  expect(one.controlPlane.applied.map(({ epoch }) => epoch)).toEqual([1, 2, 2])
  expect(one.controlPlane.count("attach").at(-1)?.lastEpoch).toBe(1)
  expect(leaseTable(one.store.database).epoch()).toBe(2)
})

test("a control plane that lost its last events gets what is left numbered on from where it stands", async () => {
  const one = station()
  await attached(one)
  one.emit(starting, starting, starting)
  await one.controlPlane.until(() => one.outbox.unacknowledged() === 0, "an empty outbox")
  one.controlPlane.received = 1
  one.controlPlane.cut()
  one.emit({ type: "process_ready", sessionId, generation })
  await one.controlPlane.until(() => one.controlPlane.received === 2, "the event that is left")
  expect(one.controlPlane.applied.at(-1)?.event.type).toBe("process_ready")
})

test("a store that lost its last events does not hide new ones behind their numbers", async () => {
  const one = station()
  one.controlPlane.received = 40
  one.emit(starting, { type: "process_ready", sessionId, generation })
  await attached(one)
  await one.controlPlane.until(() => one.controlPlane.received === 42, "both events")
  expect(one.controlPlane.applied.map(({ event }) => event.type)).toEqual([
    "process_starting",
    "process_ready",
  ])
})

test("a silent connection is noticed by its unanswered renewal", async () => {
  const one = station({ fake: { renewMs: 30 }, ports: { ...ports, timers: quick } })
  one.controlPlane.hooks.renew = () => "handled"
  await attached(one)
  await one.controlPlane.until(() => one.controlPlane.count("attach").length >= 2, "a second attach")
  const detail = one.entries.find((entry) => entry.event === "link_ended")
  expect(detail?.event === "link_ended" ? detail.detail : "").toContain("renewal")
})

test("without renewals the lease lapses; a renewal restores it", async () => {
  const one = station({ fake: { leaseMs: 250, renewMs: 50 } })
  await attached(one)
  expect(one.lease.state().state).toBe("held")
  one.controlPlane.hooks.renew = () => "handled"
  await one.controlPlane.until(() => one.lease.state().state === "lapsed", "a lapse")
  one.controlPlane.hooks.renew = undefined
  one.controlPlane.cut()
  await one.controlPlane.until(() => one.lease.state().state === "held", "a new lease")
})

test("a control plane that cuts every attachment at once is backed off from", async () => {
  const one = station({ ports: { ...ports, random: () => 0.5, timers: { ...ports.timers, after } } })
  const delays: number[] = []
  function after(delayMs: number, fire: () => void) {
    return ports.timers.after(delayMs > 100 && delayMs < 10_000 ? 1 : delayMs, fire)
  }
  one.controlPlane.hooks.attach = (_, connection) => {
    setTimeout(connection.cut, 5)
    return undefined
  }
  await one.controlPlane.until(() => one.controlPlane.count("attach").length >= 6, "six attachments")
  for (const entry of one.entries) if (entry.event === "link_ended") delays.push(entry.retryInMs ?? -1)
  expect(delays.slice(0, 5)).toEqual([125, 250, 500, 1_000, 2_000])
})

test("a Computer that is parked again and again attaches anew each time without waiting longer", async () => {
  const one = station({ ports: { ...ports, random: () => 0.5 } })
  one.controlPlane.hooks.attach = (_, connection) => {
    setTimeout(connection.park, 5)
    return undefined
  }
  await one.controlPlane.until(() => one.controlPlane.count("attach").length >= 5, "five attachments")
  const ends = one.entries.flatMap((entry) => (entry.event === "link_ended" ? [entry] : []))
  expect(ends.slice(0, 4).map(({ outcome, retryInMs }) => [outcome, retryInMs])).toEqual(
    Array.from({ length: 4 }, () => ["parked", 125]),
  )
})

test("a link that is closed gives the lease back and leaves the socket", async () => {
  const one = station()
  await attached(one)
  one.emit(starting)
  expect(await one.link.flush(2_000)).toBe(true)
  await one.link.close()
  await one.controlPlane.until(() => one.controlPlane.count("detach").length === 1, "a detach")
  await one.controlPlane.until(() => one.controlPlane.connections === 0, "a closed socket")
  expect(one.lease.state().state).toBe("none")
})

test("closing is prompt while the control plane is out of reach", async () => {
  const one = station()
  await attached(one)
  await one.controlPlane.down()
  await one.controlPlane.until(() => one.link.status().state === "backing_off", "a backoff")
  one.emit(starting)
  const startedAt = performance.now()
  expect(await one.link.flush(3_000)).toBe(false)
  await one.link.close()
  expect(performance.now() - startedAt).toBeLessThan(1_000)
  expect(one.outbox.unacknowledged()).toBe(1)
})

/** The answer to a renewal is awaited for 10 s; here that is 100 ms. */
const quick: typeof ports.timers = {
  ...ports.timers,
  after: (delayMs, fire) => ports.timers.after(delayMs === 10_000 ? 100 : delayMs, fire),
}
