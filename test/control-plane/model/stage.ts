/** What a history has at hand: the real receiver, the model beside it, and what both have been through so far. */
import { isDeepStrictEqual } from "node:util"
import { ComputerId, EnvironmentKey, Epoch, type StoreId } from "@computerd/protocol/ids"
import type { AdmissionAnswer, LinkEvent } from "@computerd/protocol/link"
import { createRig, type Rig } from "../rig.ts"
import { type Call, Calls } from "./calls.ts"
import { manifestFor, modelFor } from "./scopes.ts"
import { type MComputer, type MSession, World } from "./world.ts"

export interface Action {
  readonly kind: number
  readonly a: number
  readonly b: number
  readonly c: number
}

export interface HistoryOptions {
  readonly environments: readonly string[]
  /** Compares all that can be seen after every so many actions. */
  readonly compareEvery: number
  readonly path?: string
}

const limitsOf = (env: string) =>
  ({
    one: { depth: 2, running: null },
    two: { depth: 1, running: 1 },
    three: { depth: 8, running: 2 },
  })[env] ?? { depth: 3, running: null }

export const pick = <Item>(items: readonly Item[], at: number): Item | undefined =>
  items[at % Math.max(items.length, 1)]

export interface Link {
  store: StoreId
  seq: number
  received: number
}

export interface Wait {
  readonly call: Call
  readonly deadline: number
  readonly promise: Promise<AdmissionAnswer>
  answered: boolean
}

export class Mismatch extends Error {}

export class Stage {
  readonly rig: Rig
  readonly world: World
  readonly calls: Calls
  readonly options: HistoryOptions
  readonly links = new Map<string, Link>()
  readonly waits: Wait[] = []
  readonly tally = new Map<string, number>()
  version = new Map<string, number>()
  step = 0

  constructor(options: HistoryOptions) {
    this.options = options
    this.rig = createRig({
      ...(options.path === undefined ? {} : { path: options.path }),
      settings: {
        leaseMs: 1_000_000_000,
        environments: (environment) => {
          const { depth, running } = limitsOf(environment)
          return { delegationDepthMax: depth, runningComputersMax: running }
        },
      },
    })
    this.world = new World(this.rig.ports.now(), limitsOf)
    this.calls = new Calls(this.world)
    this.calls.computerIdOf = (session) => {
      const seen = this.rig.receiver.snapshot().sessions.find((one) => one.id === session)
      if (seen === undefined) throw new Mismatch(`the real receiver has no ${session}`)
      return seen.computerId
    }
    for (const env of options.environments) this.publish(env)
  }

  count(what: string): void {
    this.tally.set(what, (this.tally.get(what) ?? 0) + 1)
  }

  check(what: string, real: unknown, model: unknown): void {
    if (isDeepStrictEqual(real, model)) return
    throw new Mismatch(
      `step ${this.step}, ${what}\nreal:  ${JSON.stringify(real)}\nmodel: ${JSON.stringify(model)}`,
    )
  }

  publish(env: string): void {
    const version = this.version.get(env) ?? 0
    this.version.set(env, version + 1)
    const key = EnvironmentKey.parse(env)
    const { deploymentId } = this.rig.receiver.addDeployment(key, manifestFor(Math.min(version, 1)))
    this.world.deployments.set(deploymentId, modelFor(deploymentId, env, Math.min(version, 1)))
    this.world.current.set(env, deploymentId)
  }

  sessions(): MSession[] {
    return [...this.world.sessions.values()]
  }

  /** Those that could call: their Computer has had a supervisor. Mostly those that are really able to. */
  caller(at: number): MSession | undefined {
    const able = this.sessions().filter(
      (one) => one.generation > 0 && one.status !== "closed" && !this.world.held(one),
    )
    const some = this.sessions().filter((one) => this.links.has(one.computer))
    const parents = able.filter((one) => this.world.openChildren(one.id).length > 0)
    const deepest = able
      .filter((one) => one.parent === null)
      .sort((left, right) => right.depth - left.depth)[0]
    if (at % 8 === 4 && deepest !== undefined) return deepest
    if (at % 8 < 4 && parents.length > 0) return pick(parents, at >> 3)
    return at % 8 === 7 || able.length === 0 ? pick(some, at >> 3) : pick(able, at >> 3)
  }

  computer(at: number): MComputer | undefined {
    return pick([...this.world.computers.values()], at)
  }

  /** Sends one event as the supervisor of the Session's Computer; says whether there is one. */
  emit(session: MSession, event: LinkEvent): boolean {
    const link = this.links.get(session.computer)
    const computer = this.world.computer(session.computer)
    if (link === undefined || computer.epoch === 0) return false
    const real = this.rig.receiver.event(
      ComputerId.parse(computer.id),
      Epoch.parse(computer.epoch),
      link.seq + 1,
      this.world.now,
      event,
    )
    if (!real.ok) throw new Mismatch(`event refused: ${real.error.message}`)
    link.seq += 1
    return true
  }

  onComputer(at: number, wanted: (session: MSession) => boolean): MSession | undefined {
    return pick(
      this.sessions().filter((one) => this.links.has(one.computer) && one.status !== "closed" && wanted(one)),
      at,
    )
  }
}
