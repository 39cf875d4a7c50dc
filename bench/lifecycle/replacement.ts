/** From SIGKILL of a real Session process to its replacement spawned, connected and ready, beside a bare Bun child. */
import { join } from "node:path"
import { median, now } from "./figures.ts"
import { heard, openStage } from "./stage.ts"

export interface Replacements {
  readonly bare: { readonly spawned: readonly number[]; readonly connected: readonly number[] }
  readonly ours: {
    readonly spawned: readonly number[]
    readonly connected: readonly number[]
    readonly ready: readonly number[]
  }
}

/** A parent that starts its child again, which connects a WebSocket. */
const openBare = () => {
  let connected = Promise.withResolvers<void>()
  const server = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    fetch: (request, upgrading) =>
      upgrading.upgrade(request) ? undefined : new Response(null, { status: 400 }),
    websocket: { message: () => connected.resolve() },
  })
  const program = join(import.meta.dir, "../supervisor/bare.ts")
  const start = () => Bun.spawn([process.execPath, program, `ws://127.0.0.1:${server.port}`])
  let child = start()
  return {
    up: () => connected.promise,
    round: async () => {
      connected = Promise.withResolvers()
      const killed = now()
      child.kill("SIGKILL")
      await child.exited
      child = start()
      const spawned = now() - killed
      await connected.promise
      return { spawned, connected: now() - killed }
    },
    close: async () => {
      child.kill("SIGKILL")
      await child.exited
      await server.stop(true)
    },
  }
}

const wall = (): number => performance.timeOrigin + performance.now()

const openOurs = async () => {
  // The journal tells of each step; the control plane hears of the first and the last alone.
  const stage = await openStage({ config: { logLevel: "debug" } })
  const supervisor = await stage.startAttached()
  const { computer } = stage
  const round = async () => {
    const sessionId = computer.assign()
    const session = new Set([sessionId])
    await heard(stage, "process_ready", session)
    const pid = (await computer.status()).sessions.find(({ id }) => id === sessionId)?.pid ?? 0
    const told = (event: string) =>
      supervisor.told(event, (one) => one.sessionId === sessionId && one.generation === 2)
    const steps = [told("process_spawned"), told("channel_connected")] as const
    const [killed, killedWall] = [now(), wall()]
    process.kill(pid, "SIGKILL")
    await heard(stage, "process_ready", session, 2)
    const ready = now() - killed
    const [spawned, connected] = await Promise.all(steps)
    computer.controlPlane.command({ type: "release", sessionId, graceMs: 1000 })
    await heard(stage, "released", session)
    return { spawned: spawned - killedWall, connected: connected - killedWall, ready }
  }
  return { round, close: stage.close }
}

export const measureReplacements = async (rounds: number): Promise<Replacements> => {
  const bare = openBare()
  const ours = await openOurs()
  try {
    await bare.up()
    const pairs = []
    for (let round = 0; round <= rounds; round += 1)
      pairs.push({ bare: await bare.round(), ours: await ours.round() })
    const counted = pairs.slice(1)
    return {
      bare: {
        spawned: counted.map((pair) => pair.bare.spawned),
        connected: counted.map((pair) => pair.bare.connected),
      },
      ours: {
        spawned: counted.map((pair) => pair.ours.spawned),
        connected: counted.map((pair) => pair.ours.connected),
        ready: counted.map((pair) => pair.ours.ready),
      },
    }
  } finally {
    await bare.close()
    await ours.close()
  }
}

export const connectedRatio = ({ bare, ours }: Replacements): number =>
  median(ours.connected) / median(bare.connected)
