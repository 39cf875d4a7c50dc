/** The simulated control plane: the real connections and receiver over a disk that outlives them. */
import { Database } from "bun:sqlite"
import { silentJournal } from "@computerd/control-plane/journal"
import { type Connections, createConnections } from "@computerd/control-plane/link/connections"
import type { Ports } from "@computerd/control-plane/ports"
import { receiverOver } from "@computerd/control-plane/receiver/create"
import type { Receiver } from "@computerd/control-plane/receiver/receiver"
import { defaultSettings } from "@computerd/control-plane/receiver/settings"
import { type Store, storeOver } from "@computerd/control-plane/store/open"
import type { ComputerId, SessionId } from "@computerd/protocol/ids"
import { Scope } from "@computerd/protocol/scope"
import { agentOf, environment, manifestOf, text, wideMaximum } from "../../control-plane/rig.ts"
import { Disk } from "./disk.ts"
import type { Listener, Wire } from "./network.ts"
import { epochMs, Machine, Time } from "./time.ts"
import { watched } from "./truth.ts"
import { countingIds, createFuse, type Fuse, type World } from "./world.ts"

interface Life {
  readonly machine: Machine
  readonly fuse: Fuse
  readonly store: Store
  readonly receiver: Receiver
  readonly connections: Connections
  alive: boolean
}

export interface Scene {
  readonly bytes: Uint8Array
  readonly computerId: ComputerId
  readonly rootId: SessionId
  readonly maximum: Scope
  /** Ids made so far. */
  readonly ids: number
}

/** Longer than any making of the scene needs ids. */
const sceneIds = 1_000
const agents = ["lead", "helper"]

let scene: Scene | undefined

/** Counts every write of a cursor, as part of the transaction that writes it: each one is an event that was applied. */
const cursorMoves = `
CREATE TABLE sim_cursor_moves (count INTEGER NOT NULL);
INSERT INTO sim_cursor_moves VALUES (0);
CREATE TRIGGER sim_cursor_moved AFTER UPDATE ON event_cursors BEGIN
  UPDATE sim_cursor_moves SET count = count + 1;
END;
`

/** A published program and one Session of it, which every schedule starts from. */
export const sceneOf = (): Scene => {
  if (scene !== undefined) return scene
  const database = new Database(":memory:", { strict: true })
  const opened = storeOver(database, ":memory:")
  if (!opened.ok) throw new Error(opened.error.message)
  const time = new Time()
  const machine = new Machine()
  const ports: Ports = {
    now: () => epochMs,
    runningMs: () => 0,
    newId: countingIds(0),
    randomBytes: (count) => new Uint8Array(count).fill(7),
    after: (delayMs, run) => time.timer(machine, delayMs, run),
    soon: (run) => void time.timer(machine, 0, run),
    journal: silentJournal,
    reach: () => undefined,
  }
  const receiver = receiverOver(opened.value, { ports, settings: defaultSettings })
  const maximum = Scope.parse(wideMaximum(agents))
  receiver.addDeployment(environment, manifestOf(agents.map((id) => agentOf(id, { runtimeMcp: maximum }))))
  const started = receiver.startSession({
    environment,
    agent: "lead",
    input: text("the first Turn"),
    idempotencyKey: "the first Turn",
  })
  if (!started.ok) throw new Error(started.error.message)
  const { sessionId: rootId } = started.value
  const computerId = receiver.computers()[0]!.id
  receiver.computerState(computerId, "starting")
  database.run(cursorMoves)
  scene = { bytes: database.serialize(), computerId, rootId, maximum, ids: sceneIds }
  database.close()
  return scene
}

export class SimControlPlane {
  readonly #world: World
  readonly #disk: Disk
  readonly wires: () => Iterable<Wire>
  #life: Life | undefined

  constructor(world: World, wires: () => Iterable<Wire>) {
    this.#world = world
    this.#disk = new Disk(sceneOf().bytes)
    this.wires = wires
  }

  get life(): Life | undefined {
    return this.#life?.alive === true ? this.#life : undefined
  }

  start(): void {
    if (this.life !== undefined) return
    const { time, newId, random, truth } = this.#world
    const machine = new Machine()
    const isDead = (): boolean => this.#life?.machine === machine && !this.#life.alive
    const isAlive = (): boolean => !isDead()
    const fuse = createFuse({ isAlive, die: (point) => this.#die(`at ${point}`) })
    const after: Ports["after"] = (delayMs, run) =>
      isDead() ? () => undefined : time.timer(machine, delayMs, run)
    const ports: Ports = {
      now: () => epochMs + time.nowMs + machine.leapMs,
      runningMs: () => machine.runningMs(time.nowMs),
      newId,
      randomBytes: (count) => new Uint8Array(count).map(() => random.int(0, 255)),
      after,
      soon: (run) => void after(0, run),
      journal: {
        record: (event) => {
          if (event.type === "store_failed" || event.type === "task_failed" || event.type === "link_closed")
            this.#world.trace(`control plane ${JSON.stringify(event)}`)
        },
      },
      reach: fuse.reach,
    }
    const database = this.#disk.open()
    const opened = storeOver(database, "control plane")
    if (!opened.ok) throw new Error(opened.error.message)
    const store = opened.value
    const receiver = receiverOver(store, { ports, settings: defaultSettings })
    const connections = createConnections({
      receiver: watched(receiver, { store, database, truth, isAlive }),
      ports,
      attached: () => undefined,
    })
    this.#life = { machine, fuse, store, receiver, connections, alive: true }
  }

  kill(): void {
    if (this.life !== undefined) this.#die("by a signal")
  }

  fillDisk(): void {
    if (this.life !== undefined) this.#disk.fill()
  }

  makeRoom(): void {
    this.#disk.makeRoom()
  }

  look<Value>(look: (database: Database) => Value): Value {
    return this.#disk.read(look)
  }

  /** Where a supervisor's dial arrives; nothing while the process is down. */
  listener(computerId: ComputerId): Listener | undefined {
    const life = this.life
    if (life === undefined) return undefined
    return {
      machine: life.machine,
      accept: (socket) => {
        if (!life.alive) return undefined
        const connection = life.connections.open(computerId, socket)
        return {
          receive: (frame) => {
            if (life.alive) connection.receive(frame)
          },
          closed: (detail) => {
            if (life.alive) life.connections.closed(connection, detail)
          },
        }
      },
    }
  }

  dispose(): void {
    this.#disk.close()
  }

  #die(how: string): void {
    const life = this.#life
    if (life === undefined) return
    this.#world.trace(`the control plane dies ${how}`)
    life.alive = false
    this.#world.time.forget(life.machine)
    for (const wire of this.wires()) wire.farDied()
    this.#disk.kill()
  }
}
