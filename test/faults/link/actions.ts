/** Carries out the actions of a plan. */
import { text } from "../../control-plane/rig.ts"
import type { Callers } from "./callers.ts"
import type { Scene, SimControlPlane } from "./control-plane.ts"
import type { Direction, FrameFault } from "./network.ts"
import type { FaultKind, WorkKind } from "./plan.ts"
import type { Random } from "./random.ts"
import type { SimSession } from "./sessions.ts"
import type { SimSupervisor } from "./supervisor.ts"
import type { World } from "./world.ts"

export interface Stage {
  readonly world: World
  readonly controlPlane: SimControlPlane
  readonly supervisors: readonly SimSupervisor[]
  readonly callers: Callers
  readonly scene: Scene
  /** The supervisor that holds the lease, by its own word. */
  readonly owner: () => SimSupervisor | undefined
}

const directions: readonly Direction[] = ["up", "down"]
const frameFaults: readonly FrameFault[] = ["drop", "repeat", "swap", "tear"]

/** Short ones meet what is under way, those of about a lease meet its end, and long ones outlast it. */
const durationsMs = [
  [20, 3_000],
  [44_000, 62_000],
  [3_000, 100_000],
] as const

const durationMs = (random: Random): number => {
  const [least, most] = random.pick(durationsMs) ?? durationsMs[0]
  return random.int(least, most)
}
const downMs = (random: Random): number => random.int(10, random.chance(0.7) ? 2_000 : 90_000)
const pointsMax = 40
/** Two hours, either way. */
const leapMaxMs = 7_200_000

const lifeOf = (stage: Stage, random: Random): SimSupervisor | undefined =>
  random.pick(stage.supervisors.filter((one) => one.isUp))

const kill = (stage: Stage, one: SimSupervisor, random: Random): void => {
  one.kill()
  stage.world.time.after(downMs(random), () => one.start())
}

const restartControlPlane = ({ world, controlPlane }: Stage, random: Random): void => {
  world.time.after(downMs(random), () => controlPlane.start())
}

export const performFault = (stage: Stage, kind: FaultKind, random: Random): void => {
  const { world, controlPlane } = stage
  const { time } = world
  const one = lifeOf(stage, random)
  const wire = one === undefined ? undefined : [...one.wires].find((each) => each.isLive)
  const happened = (): void => world.faulted(kind)

  switch (kind) {
    case "cut":
      if (wire === undefined) return
      wire.cut()
      break
    case "silence":
      if (wire === undefined) return
      wire.goSilent()
      break
    case "stall":
      if (wire === undefined) return
      wire.stall(durationMs(random))
      break
    case "frame":
      wire?.breakNext(random.pick(directions) ?? "up", random.pick(frameFaults) ?? "drop")
      return
    case "partition":
      if (one === undefined) return
      one.network.partitioned = true
      for (const each of one.wires) each.goSilent()
      time.after(durationMs(random), () => {
        one.network.partitioned = false
      })
      break
    case "slow":
      if (one === undefined) return
      one.network.latencyMs = random.int(100, 4_000)
      time.after(durationMs(random), () => {
        one.network.latencyMs = 20
      })
      break
    case "kill supervisor":
      if (one === undefined) return
      kill(stage, one, random)
      break
    case "kill control plane":
      controlPlane.kill()
      restartControlPlane(stage, random)
      break
    case "kill supervisor at a step": {
      if (one === undefined) return
      one.life?.fuse.light(random.int(1, pointsMax))
      time.after(durationMs(random), () => one.start())
      break
    }
    case "kill control plane at a step":
      controlPlane.life?.fuse.light(random.int(1, pointsMax))
      time.after(durationMs(random), () => controlPlane.start())
      break
    case "power cut":
      if (one === undefined) return
      one.cutPower()
      time.after(downMs(random), () => one.start())
      break
    case "damaged store":
      if (one === undefined) return
      one.kill()
      time.after(downMs(random), () => one.start("fresh"))
      break
    case "stop supervisor":
      if (one === undefined) return
      one.stop()
      time.after(durationMs(random), () => one.goOn())
      break
    case "stop control plane": {
      const { machine } = controlPlane.life ?? {}
      if (machine === undefined) return
      machine.stop(time.nowMs)
      time.after(durationMs(random), () => machine.goOn(time.nowMs))
      break
    }
    case "clock leaps": {
      const machine = random.chance(0.5) ? controlPlane.life?.machine : one?.life?.machine
      if (machine === undefined) return
      machine.leapMs += random.int(-leapMaxMs, leapMaxMs)
      break
    }
    case "full disk of the supervisor":
      if (one === undefined) return
      one.fillDisk()
      time.after(durationMs(random), () => one.makeRoom())
      break
    case "full disk of the control plane":
      controlPlane.fillDisk()
      time.after(durationMs(random), () => controlPlane.makeRoom())
      break
    case "rival": {
      const rival = stage.supervisors[1]
      if (rival === undefined) return
      rival.start()
      // Longer than a lease mostly, so that it is there when one lapses.
      time.after(random.int(1_000, 200_000), () => rival.close())
      break
    }
    case "detach":
      if (one === undefined) return
      one.close()
      time.after(3_000 + downMs(random), () => one.start())
      break
    case "park":
      if (one === undefined) return
      controlPlane.life?.connections.park(stage.scene.computerId)
      one.stop()
      time.after(durationMs(random), () => one.goOn())
      break
    case "process dies":
      one?.life?.sessions.killOne(random.int(0, 10))
      break
  }
  happened()
}

export const performWork = (stage: Stage, kind: WorkKind, random: Random): void => {
  const { callers, scene, owner } = stage
  const { rootId, computerId } = scene
  const rows = owner()?.life?.sessions.all() ?? []
  const child = random.pick(rows.filter(({ session_id }) => session_id !== rootId))
  const idempotencyKey = `${kind} ${stage.world.time.nowMs} ${random.int(0, 1_000_000)}`
  const leaves = random.chance(0.2) ? { leavesAfterMs: random.int(1, 200) } : {}
  const call = (tool: string, args: Record<string, unknown>): void =>
    callers.call({
      caller: rootId,
      tool,
      arguments: { ...args, idempotencyKey } as never,
      ...leaves,
    })
  const ask = (tool: string, args: Record<string, unknown>): void =>
    callers.call({ caller: rootId, tool, arguments: args as never, ...leaves })
  const running = (row: SimSession | undefined): row is SimSession & { readonly turn: string } =>
    row?.phase === "running" && row.turn !== null

  switch (kind) {
    case "spawn":
      call("spawn", { agent: "helper", input: text(idempotencyKey), computerId })
      return
    case "enqueue":
      if (child !== undefined) call("enqueue", { sessionId: child.session_id, input: text(idempotencyKey) })
      return
    case "message":
      if (running(child))
        call("send_turn", { sessionId: child.session_id, turnId: child.turn, message: text(idempotencyKey) })
      return
    case "stop":
      if (running(child)) call("interrupt_turn", { sessionId: child.session_id, turnId: child.turn })
      return
    case "hold":
      if (child !== undefined) call("interrupt_session", { sessionId: child.session_id })
      return
    case "close":
      if (child !== undefined) call("close_session", { sessionId: child.session_id })
      return
    case "look":
      ask("inspect_session", { sessionId: (child?.session_id ?? rootId) as string })
      return
    case "wait":
      if (child?.turn != null)
        ask("wait_turn", { sessionId: child.session_id, turnId: child.turn, timeoutMs: 5_000 })
      return
    case "shout":
      owner()?.life?.sessions.shout(
        random.int(0, 10),
        random.chance(0.2) ? random.int(500, 700) : random.int(2, 40),
      )
      return
  }
}
