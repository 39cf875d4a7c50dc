/** One run: a world under a workload and faults, its healing, its end, and what the checker says of it. */
import { check, type Finding } from "./history/check.ts"
import type { Entry } from "./history/record.ts"
import { settleAll } from "./schedule/healing.ts"
import { createFaults, type Faults } from "./schedule/perform.ts"
import { seeded } from "./schedule/random.ts"
import { createBoss } from "./workload/boss.ts"
import { createCaller } from "./workload/caller.ts"
import { createOperator, type Operator } from "./workload/operator.ts"
import { createProber } from "./workload/probe.ts"
import { openWorld, type World } from "./world/world.ts"

export interface RunOptions {
  readonly seed: number
  readonly bosses: number
  /** How long it may take until everything has settled. */
  readonly healMaxMs: number
  /** Faults, one after the other; the workload stops with it. */
  readonly harm: (faults: Faults, world: World) => Promise<void>
}

export interface RunResult {
  readonly seed: number
  readonly findings: readonly Finding[]
  readonly remains: readonly string[]
  readonly history: readonly Entry[]
  readonly faults: Readonly<Record<string, number>>
  readonly frames: Readonly<Record<string, number>>
  readonly turns: number
  readonly receipts: number
  readonly healedAfterMs: number
  readonly planeRestarts: number
  readonly disk: string
}

const callersPerBoss = 2
const careEveryMs = 250
const initMaxMs = 60_000

/** Where the Session's first process runs. */
const computerOf = async ({ book }: World, session: string): Promise<string> => {
  const deadline = performance.now() + initMaxMs
  for (;;) {
    const process = book.processes(session)[0]
    if (process !== undefined) return process.computer
    if (performance.now() > deadline) throw new Error(`${session} has never initialised`)
    await Bun.sleep(10)
  }
}

/** Releases what a person would, and tries dead headers, until it is stopped. */
const care = async (world: World, operator: Operator, stop: AbortSignal): Promise<void> => {
  const prober = createProber(world.book)
  while (!stop.aborted) {
    await operator.release("roots")
    const sessions = (await world.plane.snapshot())?.sessions ?? []
    await prober.probe(sessions.map(({ id }) => id))
    await Bun.sleep(careEveryMs)
  }
}

const runIn = async (world: World, options: RunOptions): Promise<RunResult> => {
  const { seed, bosses, healMaxMs, harm } = options
  const random = seeded(seed + 1)
  const operator = createOperator(world)
  const [stop, giveUp] = [new AbortController(), new AbortController()]
  let keys = 0
  const newKey = (): string => {
    keys += 1
    return `key-${seed}-${keys}`
  }
  await world.publish()
  const sessions = await Promise.all(Array.from({ length: bosses }, () => operator.start(newKey())))
  const deps = { book: world.book, random: random.next, giveUp: giveUp.signal }
  const computers = await Promise.all(sessions.map((session) => computerOf(world, session)))
  const working = sessions.map(async (session, index) => {
    const computer = computers[index] ?? ""
    const works = Array.from({ length: callersPerBoss }, (_, place) =>
      createBoss({
        caller: createCaller(session, deps),
        random: seeded(seed + 10 * place + keys),
        computer,
        newKey,
      }).work(stop.signal),
    )
    await Promise.all(works)
  })
  const caring = care(world, operator, giveUp.signal)
  const faults = createFaults(world)
  await harm(faults, world)
  await faults.heal()
  world.book.write({ kind: "healing" })
  stop.abort()
  const { afterMs, left } = await settleAll(operator, Promise.all(working), healMaxMs)
  giveUp.abort()
  world.book.write({ kind: "healed", afterMs, left })
  await Promise.all([caring, ...working])
  const { plane, link, disk } = world
  const planeRestarts = plane.restarts()
  const { history, state, remains } = await world.end()
  return {
    seed,
    findings: check(history, state),
    remains,
    history,
    faults: faults.counts(),
    frames: link.counts(),
    turns: state.turns.length,
    receipts: state.receipts.length,
    healedAfterMs: afterMs,
    planeRestarts,
    disk: disk.kind === "own" ? "a disk of its own" : `none: ${disk.why}`,
  }
}

export const runWorld = async (options: RunOptions): Promise<RunResult> => {
  const world = await openWorld(seeded(options.seed + 2).next)
  try {
    return await runIn(world, options)
  } catch (error) {
    await world.destroy()
    throw error
  }
}
