/** A simulated supervisor: the real link, outbox, lease and admissions over a disk that outlives them. */
import { Database } from "bun:sqlite"
import { ok } from "@computerd/protocol/errors"
import type { ComputerId } from "@computerd/protocol/ids"
import type { AdmissionAnswer, AdmissionRequest } from "@computerd/protocol/link"
import { Admissions } from "@computerd/supervisor/admission/admissions"
import { createAdmissionJournal } from "@computerd/supervisor/admission/journal"
import { createJournal } from "@computerd/supervisor/journal"
import { createLease, type Lease } from "@computerd/supervisor/link/lease"
import type { Link } from "@computerd/supervisor/link/link"
import { createOutbox, type Outbox } from "@computerd/supervisor/link/outbox"
import { ControlPlaneLink } from "@computerd/supervisor/link/supervise"
import type { LinkTransport } from "@computerd/supervisor/link/transport"
import type { Ports } from "@computerd/supervisor/ports"
import { noBallast } from "@computerd/supervisor/store/ballast"
import { leaseTable } from "@computerd/supervisor/store/lease"
import { type Store, storeOver } from "@computerd/supervisor/store/open"
import { Disk } from "./disk.ts"
import { type Listener, type NetworkState, Wire } from "./network.ts"
import { createSimSessions, historyOf, type SimSessions, sessionsSchema } from "./sessions.ts"
import { epochMs, Machine } from "./time.ts"
import { createFuse, type Fuse, type World } from "./world.ts"

/** One life of the process. */
interface Life {
  readonly machine: Machine
  readonly fuse: Fuse
  readonly store: Store
  readonly lease: Lease
  readonly outbox: Outbox
  readonly admissions: Admissions
  readonly link: Link
  readonly sessions: SimSessions
  readonly callers: Set<() => void>
  alive: boolean
}

export interface SimSupervisorOptions {
  readonly world: World
  readonly name: string
  readonly computerId: ComputerId
  readonly listener: () => Listener | undefined
}

let template: Uint8Array | undefined

/** A store of the present version without an identity: each one that starts from it gets its own. */
const freshStore = (ports: Ports): Uint8Array => {
  if (template !== undefined) return template
  const database = new Database(":memory:", { strict: true })
  const journal = createJournal(ports.clock)
  const made = storeOver({
    database,
    file: ":memory:",
    ports,
    journal,
    ballast: noBallast,
    release: () => undefined,
  })
  if (!made.ok) throw new Error(made.error.message)
  database.run("DELETE FROM meta WHERE key = 'store_id'")
  database.run(sessionsSchema)
  template = database.serialize()
  database.close()
  return template
}

const notAlive: AdmissionAnswer = {
  ok: false,
  error: { code: "admission_unavailable", message: "nobody listens there" },
}

export class SimSupervisor {
  readonly name: string
  readonly #options: SimSupervisorOptions
  readonly #world: World
  readonly wires = new Set<Wire>()
  #disk: Disk | undefined
  #life: Life | undefined
  #boots = 0
  #lostPower = false
  #dials = 0
  readonly network: NetworkState = { partitioned: false, latencyMs: 20 }
  rejected = false

  constructor(options: SimSupervisorOptions) {
    this.name = options.name
    this.#options = options
    this.#world = options.world
  }

  get isUp(): boolean {
    return this.#life?.alive === true
  }

  get storeId(): string | undefined {
    return this.#life?.store.id
  }

  get life(): Life | undefined {
    return this.#life?.alive === true ? this.#life : undefined
  }

  /** Starts on the disk that there is, or on a fresh one. */
  start(on: "same" | "fresh" = "same"): void {
    if (this.isUp) return
    this.rejected = false
    const machine = new Machine()
    const isAlive = (): boolean => this.#life?.machine !== machine || this.#life.alive
    const fuse = createFuse({ isAlive, die: (point) => this.#die(`at ${point}`) })
    const ports = this.#ports(machine, fuse)
    if (this.#disk === undefined || on === "fresh") {
      this.#disk?.close()
      this.#disk = new Disk(freshStore(ports))
    }
    this.#life = this.#live(machine, fuse, ports, this.#disk)
    this.#life.link.start()
  }

  kill(): void {
    if (this.isUp) this.#die("by a signal")
  }

  /** The machine loses power: with the process go those that it supervised, and what was not synced. */
  cutPower(): void {
    const disk = this.#disk
    if (!this.isUp || disk === undefined) return
    const before = disk.read(historyOf)
    const { storeId } = this
    this.#end("machine")
    disk.cutPower()
    const after = disk.read(historyOf)
    if (storeId !== undefined) this.#world.truth.powerCut(storeId, before, after.length)
    this.#world.trace(`${this.name} lost power; ${before.length - after.length} events were not on disk`)
    this.#boots += 1
    this.#lostPower = true
  }

  /** The store's own syncs are the disk's. */
  #noticeSyncs(disk: Disk, database: Database): void {
    const run = database.run.bind(database)
    const noticing: typeof run = (sql, ...rest) => {
      const changes = run(sql, ...rest)
      if (sql === "PRAGMA synchronous = NORMAL") disk.synced()
      return changes
    }
    database.run = noticing
  }

  /** Ends as on SIGTERM: what is left is flushed, the lease is given back. */
  close(): void {
    const life = this.life
    if (life === undefined) return
    this.#world.trace(`${this.name} detaches`)
    life.sessions.close()
    life.link
      .close()
      .then(() => {
        if (life.alive) this.#die("after its close")
      })
      .catch(() => undefined)
  }

  stop(): void {
    this.life?.machine.stop(this.#world.time.nowMs)
  }

  goOn(): void {
    this.life?.machine.goOn(this.#world.time.nowMs)
  }

  invoke(request: AdmissionRequest, signal: AbortSignal): Promise<AdmissionAnswer> {
    const life = this.life
    if (life === undefined || life.lease.state().state !== "held") return Promise.resolve(notAlive)
    const { promise, resolve } = Promise.withResolvers<AdmissionAnswer>()
    // The caller's connection ends with the process.
    const hangUp = (): void => resolve(notAlive)
    life.callers.add(hangUp)
    Promise.try(() => life.admissions.invoke(request, signal))
      .then((answer) => {
        life.callers.delete(hangUp)
        resolve(life.alive ? answer : notAlive)
      })
      .catch(hangUp)
    return promise
  }

  fillDisk(): void {
    if (this.isUp) this.#disk?.fill()
  }

  makeRoom(): void {
    this.#disk?.makeRoom()
  }

  look<Value>(look: (database: Database) => Value): Value | undefined {
    return this.#disk?.read(look)
  }

  dispose(): void {
    this.#disk?.close()
  }

  #die(how: string): void {
    this.#world.trace(`${this.name} dies ${how}`)
    this.#end("process")
    this.#disk?.kill()
  }

  #end(what: "process" | "machine"): void {
    const life = this.#life
    if (life === undefined) return
    life.alive = false
    life.sessions.close()
    this.#world.time.forget(life.machine)
    for (const hangUp of life.callers) hangUp()
    for (const wire of this.wires) wire.nearDied(what)
    this.wires.clear()
  }

  #ports(machine: Machine, fuse: Fuse): Ports {
    const { time, random, newId } = this.#world
    const after: Ports["timers"]["after"] = (delayMs, fire) => {
      const isDead = this.#life?.machine === machine && !this.#life.alive
      return isDead ? () => undefined : time.timer(machine, delayMs, fire)
    }
    const every: Ports["timers"]["every"] = (periodMs, fire) => {
      let cancel = after(periodMs, function again() {
        cancel = after(periodMs, again)
        fire()
      })
      return () => cancel()
    }
    return {
      clock: {
        wallMs: () => epochMs + time.nowMs + machine.leapMs,
        monotonicMs: () => machine.runningMs(time.nowMs),
        elapsedMs: () => time.nowMs,
      },
      timers: { after, every },
      onPause: (listener) => machine.onPause(listener),
      newId,
      randomBytes: (count) => new Uint8Array(count).map(() => random.int(0, 255)),
      random: random.next,
      environment: {},
      reach: fuse.reach,
    }
  }

  #transport(machine: Machine): LinkTransport {
    return {
      dial: (_target, events) => {
        this.#dials += 1
        const wire = new Wire({
          deps: {
            time: this.#world.time,
            random: this.#world.random,
            state: this.network,
            trace: this.#world.trace,
            faulted: this.#world.faulted,
          },
          name: `${this.name}/${this.#dials}`,
          machine,
          events,
          listener: this.#options.listener(),
        })
        for (const old of this.wires) if (old.isClosed()) this.wires.delete(old)
        this.wires.add(wire)
        return wire
      },
      refusal: () => Promise.resolve(undefined),
    }
  }

  /** Makes the parts in the order of `supervisor/assembly.ts`. */
  #live(machine: Machine, fuse: Fuse, ports: Ports, disk: Disk): Life {
    const { truth, trace, random, time } = this.#world
    const database = disk.open()
    this.#noticeSyncs(disk, database)
    const journal = createJournal(ports.clock, [
      (entry) => {
        if (entry.event === "link_ended" || entry.event === "store_write_failed")
          trace(`${this.name} ${JSON.stringify(entry)}`)
      },
    ])
    const opened = storeOver({
      database,
      file: this.name,
      ports,
      journal,
      ballast: noBallast,
      release: () => undefined,
    })
    if (!opened.ok) throw new Error(opened.error.message)
    const store = opened.value
    disk.synced()
    const leases = leaseTable(database)
    const lease = createLease({
      ...ports,
      changed: ({ state }) => {
        if (state === "held") sessions.wake()
      },
    })
    ports.onPause(lease.look)
    const outbox = createOutbox({ store, clock: ports.clock, journal, pushed: () => link.pump() })
    const admissions = new Admissions({
      ports,
      journal,
      entries: createAdmissionJournal(store, ports.clock),
      send: (frame) => link.send(frame),
    })
    const sessions = createSimSessions({
      store,
      random,
      after: (delayMs, run) => time.timer(machine, delayMs, run),
      hasLease: () => lease.state().state === "held",
      push: outbox.push,
      received: leases.received,
      applied: (seq, command) => truth.commandApplied({ database, seq, command }),
      telling: (seq) => truth.cursorTold(database, seq),
    })
    const link: Link = new ControlPlaneLink({
      ports,
      transport: this.#transport(machine),
      journal,
      store,
      leases,
      outbox,
      lease,
      sessions,
      requests: admissions,
      computerId: this.#options.computerId,
      controlPlaneUrl: "http://control-plane",
      bootId: `${this.name}-${this.#boots}`,
      version: "0.0.0",
      credential: () => ok("simulated"),
      attached: () => undefined,
      rejected: () => {
        this.rejected = true
        sessions.close()
        trace(`${this.name} is rejected`)
      },
    })
    if (this.#lostPower) {
      sessions.loseProcesses()
      this.#lostPower = false
    }
    sessions.wake()
    return {
      machine,
      fuse,
      store,
      lease,
      outbox,
      admissions,
      link,
      sessions,
      callers: new Set(),
      alive: true,
    }
  }
}
