/**
 * Kills a supervisor, or the control plane, at each of these crash points, one after the other in one world. While a point
 * is armed a whole piece of delegated work is done, which passes every durable step from a start to the removal of its
 * Computers; it must come to its end all the same.
 */
import { existsSync, rmSync, writeFileSync } from "node:fs"
import { crashPoints as planePoints } from "@computerd/control-plane/crash-points"
import type { SessionId } from "@computerd/protocol/ids"
import { crashPoints as supervisorPoints } from "@computerd/supervisor/crash-points"
import { armedFile, spent } from "../fixtures/faults/armed.ts"
import { check, type Finding } from "./history/check.ts"
import { settleAll } from "./schedule/healing.ts"
import { seeded } from "./schedule/random.ts"
import { delegate } from "./workload/delegate.ts"
import { createOperator } from "./workload/operator.ts"
import { openWorld, type World } from "./world/world.ts"

export type Side = "supervisor" | "control-plane"

export const pointsOf = (side: Side): readonly string[] =>
  side === "supervisor" ? supervisorPoints : planePoints

export interface Walk {
  readonly points: readonly { readonly point: string; readonly outcome: "killed there" | "never reached" }[]
  readonly findings: readonly Finding[]
  readonly remains: readonly string[]
}

export interface WalkOptions {
  readonly side: Side
  readonly points: readonly string[]
  /** It dies at so manieth reach of the point. */
  readonly reach: number
}

const reachMaxMs = 15_000
const healMaxMs = 60_000
const lookEveryMs = 20

/** Passed only while a control plane starts, or a program is published. */
const ofStart = /^(store|address|due)\./
const ofPublication = /^(content|publish)\./
/** Passed only by what comes through the public API. */
const ofOutside = /^outside\./
/** Passed only by a Computer that lives longer than its work takes. */
const ofRenewal = /renew/

/** What a point needs beside the work that is done for each. */
const provoke = async (world: World, { side }: WalkOptions, point: string): Promise<void> => {
  if (side !== "control-plane") return
  if (ofStart.test(point)) process.kill(world.plane.pid(), "SIGKILL")
  if (ofPublication.test(point)) await world.publish()
}

const within = async (file: string): Promise<boolean> => {
  const deadline = performance.now() + reachMaxMs
  while (!existsSync(file)) {
    if (performance.now() > deadline) return false
    await Bun.sleep(lookEveryMs)
  }
  return true
}

const tryPoint = async (world: World, options: WalkOptions, point: string): Promise<boolean> => {
  const file = armedFile(world.directory, options.side)
  writeFileSync(file, `${point} ${options.reach}`)
  world.book.write({ kind: "fault", fault: "crash point", target: `${options.side} ${point}` })
  await provoke(world, options, point)
  const session = await delegate(world, `${options.side} ${point}`)
  if (ofRenewal.test(point)) await within(spent(file))
  if (ofOutside.test(point)) await createOperator(world).enqueue(session, `outside ${point}`)
  while (!(await world.plane.control({ kind: "close", sessionId: session as SessionId })))
    await Bun.sleep(lookEveryMs)
  const isReached = await within(spent(file))
  rmSync(file, { force: true })
  rmSync(spent(file), { force: true })
  return isReached
}

const walkIn = async (world: World, options: WalkOptions): Promise<Walk> => {
  await world.publish()
  const outcomes: Walk["points"][number][] = []
  for (const point of options.points) {
    const outcome = (await tryPoint(world, options, point)) ? "killed there" : "never reached"
    outcomes.push({ point, outcome })
  }
  world.book.write({ kind: "healing" })
  const healing = await settleAll(createOperator(world), Promise.resolve(), healMaxMs)
  world.book.write({ kind: "healed", ...healing })
  const { history, state, remains } = await world.end()
  return { points: outcomes, findings: check(history, state), remains }
}

export const walk = async (options: WalkOptions): Promise<Walk> => {
  const world = await openWorld(seeded(1).next)
  try {
    return await walkIn(world, options)
  } catch (error) {
    await world.destroy()
    throw error
  }
}

export const faultsOf = ({ points, findings, remains }: Walk): readonly string[] => [
  ...points
    .filter(({ outcome }) => outcome === "never reached")
    .map(({ point }) => `${point} was never reached`),
  ...findings.flatMap(({ rule, violations }) => violations.map((violation) => `${rule}: ${violation}`)),
  ...remains.map((what) => `left over: ${what}`),
]
