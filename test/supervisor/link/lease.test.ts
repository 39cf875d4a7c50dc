import { expect, test } from "bun:test"
import { Epoch, idSource } from "@computerd/protocol/ids"
import { createLease, type LeaseState } from "@computerd/supervisor/link/lease"
import { createRenewal, renewalAnswerMs } from "@computerd/supervisor/link/renewal"
import { systemPorts } from "@computerd/supervisor/ports"
import { fakeClock } from "../../fakes/clock.ts"

const epoch = Epoch.parse(5)
const grant = { epoch, leaseMs: 60_000, renewMs: 15_000 }

const newLease = () => {
  const time = fakeClock()
  const changes: LeaseState["state"][] = []
  const lease = createLease({ ...time, changed: ({ state }) => changes.push(state) })
  return { time, lease, changes, now: () => time.clock.elapsedMs() }
}

test("a lease is counted from the moment it was asked for and lapses on time", () => {
  const { time, lease, changes, now } = newLease()
  const askedAtMs = now()
  time.advance(2_000)
  lease.grant(grant, askedAtMs)
  expect(lease.state()).toEqual({ state: "held", epoch, remainingMs: 58_000 })
  time.advance(57_999)
  expect(lease.state().state).toBe("held")
  time.advance(1)
  expect(lease.state()).toEqual({ state: "lapsed", epoch })
  expect(changes).toEqual(["held", "lapsed"])
})

test("a lease that is renewed in time never lapses, and no timer of it is left", () => {
  const { time, lease, changes, now } = newLease()
  for (let round = 0; round < 20; round += 1) {
    lease.grant(grant, now())
    time.advance(grant.renewMs)
  }
  expect(changes).toEqual(["held"])
  expect(time.pending()).toBe(1)
  lease.end()
  expect(time.pending()).toBe(0)
})

test("a wall clock that leaps moves no lease", () => {
  const { time, lease, now } = newLease()
  lease.grant(grant, now())
  time.leap(-24 * 3_600_000)
  expect(lease.state()).toEqual({ state: "held", epoch, remainingMs: 60_000 })
  time.leap(48 * 3_600_000)
  expect(lease.state()).toEqual({ state: "held", epoch, remainingMs: 60_000 })
})

test("a lease counts on through a pause of the process, whose timers do not", async () => {
  const { time, lease, changes, now } = newLease()
  time.onPause(lease.look)
  lease.grant(grant, now())
  let fired = false
  time.timers.after(1_000, () => {
    fired = true
  })
  time.pause(300_000)
  expect(lease.state()).toEqual({ state: "lapsed", epoch })
  await Promise.resolve()
  expect(changes).toEqual(["held", "lapsed"])
  expect(fired).toBe(false)
  time.advance(1_000)
  expect(fired).toBe(true)
})

test("a lapse that came in a pause is told before the grant that ends it", () => {
  const { time, lease, changes, now } = newLease()
  lease.grant(grant, now())
  time.pause(grant.leaseMs)
  lease.grant(grant, now())
  expect(changes).toEqual(["held", "lapsed", "held"])
})

test("after a pause that was shorter than the lease its end is still told on time", () => {
  const { time, lease, changes, now } = newLease()
  lease.grant(grant, now())
  time.pause(grant.leaseMs - 5_000)
  lease.look()
  time.advance(5_000)
  expect(changes).toEqual(["held", "lapsed"])
})

test("the term of an earlier supervisor serves nobody, and its end is told", () => {
  const time = fakeClock()
  const changes: LeaseState["state"][] = []
  const inherited = { epoch, untilMs: time.clock.elapsedMs() + 5_000 }
  const lease = createLease({ ...time, inherited, changed: ({ state }) => changes.push(state) })
  expect(lease.state()).toEqual({ state: "none" })
  time.advance(4_999)
  expect(changes).toEqual([])
  time.advance(1)
  expect(changes).toEqual(["lapsed"])
  lease.grant(grant, time.clock.elapsedMs())
  expect(changes).toEqual(["lapsed", "held"])
})

test("who waits for a lapsed lease is told when it is granted, or when the wait is over", async () => {
  const { time, lease, now } = newLease()
  const late = lease.held(1_000)
  time.advance(1_000)
  expect(await late).toBe(false)
  const granted = lease.held(30_000)
  lease.grant(grant, now())
  expect(await granted).toBe(true)
  expect(await lease.held(0)).toBe(true)
  expect(time.pending()).toBe(1)
})

test("a lease that ended for good is granted to nobody again", async () => {
  const { lease, now } = newLease()
  const waiting = lease.held(30_000)
  lease.end()
  expect(await waiting).toBe(false)
  lease.grant(grant, now())
  expect(lease.state()).toEqual({ state: "none" })
})

const newRenewal = () => {
  const time = fakeClock()
  const asked: string[] = []
  const overdue: string[] = []
  const ports = { ...systemPorts({}), ...time, newId: idSource(() => Bun.randomUUIDv7()) }
  const renewal = createRenewal({
    ports,
    renewMs: grant.renewMs,
    send: (frame) => {
      if (frame.kind === "renew") asked.push(frame.requestId)
      return true
    },
    overdue: (detail) => overdue.push(detail),
  })
  return { time, asked, overdue, renewal, ports }
}

test("a renewal that is not answered ends the connection", () => {
  const { time, asked, overdue } = newRenewal()
  time.advance(grant.renewMs)
  expect(asked.length).toBe(1)
  time.advance(renewalAnswerMs - 1)
  expect(overdue).toEqual([])
  time.advance(1)
  expect(overdue.length).toBe(1)
})

test("a pause of this process is no time in which a renewal could be answered", () => {
  const { time, asked, overdue } = newRenewal()
  time.advance(grant.renewMs)
  expect(asked.length).toBe(1)
  time.pause(300_000)
  expect(overdue).toEqual([])
  time.advance(renewalAnswerMs)
  expect(overdue.length).toBe(1)
})

test("an answer counts for the renewal that asked, and only once", () => {
  const { time, asked, renewal, ports } = newRenewal()
  time.advance(grant.renewMs)
  const askedAtMs = time.clock.elapsedMs()
  time.advance(200)
  expect(renewal.answered(ports.newId("req"), grant)).toBeUndefined()
  const [requestId] = asked
  const id = ports.newId("req")
  expect(requestId).not.toBe(id)
  expect(renewal.answered(requestId as typeof id, grant)).toBe(askedAtMs)
  expect(renewal.answered(requestId as typeof id, grant)).toBeUndefined()
  time.advance(grant.renewMs)
  expect(asked.length).toBe(2)
  renewal.stop()
  expect(time.pending()).toBe(0)
})
