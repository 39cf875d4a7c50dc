/** Who lives as long as the soak: two owners on Computers of their own, and on the first a veteran that gets Turn after Turn. */
import { input } from "../e2e/plane.ts"
import { type Admitted, type Owner, startOwner } from "./owner.ts"
import type { Stage } from "./stage.ts"

export const roles = ["control plane", "supervisor", "Session process"] as const
export type Role = (typeof roles)[number]

export interface Cast {
  readonly stage: Stage
  /** Its supervisor is never killed. */
  readonly spared: Owner
  readonly harassed: Owner
  readonly veteran: Admitted
  readonly pids: Readonly<Record<Role, number>>
}

const pidOf = async (stage: Stage, { sessionId, turnId }: Admitted): Promise<number> => {
  const turn = await stage.client.turn(sessionId, turnId, 20_000)
  const result = turn.ok ? (turn.value.result as { readonly pid?: number } | undefined) : undefined
  if (result?.pid === undefined)
    throw new Error(`the veteran did not say where it runs: ${JSON.stringify(turn)}`)
  return result.pid
}

export const assembleCast = async (stage: Stage): Promise<Cast> => {
  const spared = await startOwner(stage)
  const harassed = await startOwner(stage)
  const { computerId } = spared
  const veteran = await spared.give("spawn", { agent: "veteran", input: input({}), computerId })
  return {
    stage,
    spared,
    harassed,
    veteran,
    pids: {
      "control plane": stage.controlPlane,
      supervisor: await stage.supervisorOf(computerId),
      "Session process": await pidOf(stage, veteran),
    },
  }
}

/** Work for those who live throughout. */
export const exercise = async ({ spared, veteran: { sessionId } }: Cast): Promise<string> => {
  const status = await spared.settled(await spared.give("enqueue", { sessionId, input: input({}) }))
  if (status !== "completed") throw new Error(`a Turn of the veteran is ${status}`)
  return "Turn of the veteran"
}
