/**
 * From SIGKILL of a supervised process to the first sign of life of its replacement. The process is the same for all, a
 * shell that opens a socket; rounds go around, so that whatever else the machine does falls on everybody.
 */
import { mkdtemp, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { SessionBootstrap } from "../../protocol/channel.ts"
import { now } from "./figures.ts"
import { folderFor, installedPeers, type Peer } from "./peers.ts"
import { speakFor } from "./speaker.ts"
import { heard, openStage } from "./stage.ts"
import { openStandIns } from "./stand-ins.ts"

interface Contender {
  readonly name: string
  /** Kills once; how long until the replacement spoke. */
  readonly round: () => Promise<number>
  readonly close: () => Promise<void>
  readonly times: number[]
}

/** What some supervisors ask of a service before they believe that it runs. */
const settleMs = 1_200

/** A parent that does nothing else. */
const bare = async (): Promise<Contender> => {
  const standIns = openStandIns()
  const start = () => Bun.spawn([...standIns.command], { stdio: ["ignore", "ignore", "ignore"] })
  let up = standIns.next()
  let child = start()
  await up
  return {
    name: "bare Bun.spawn",
    times: [],
    round: async () => {
      up = standIns.next()
      const killed = now()
      child.kill("SIGKILL")
      await child.exited
      child = start()
      return (await up).atMs - killed
    },
    close: async () => {
      child.kill("SIGKILL")
      await child.exited
      standIns.close()
    },
  }
}

const supervised = async (peer: Peer, root: string): Promise<Contender> => {
  const standIns = openStandIns()
  let up = standIns.next()
  const supervisor = await peer.start(await folderFor(root, peer), standIns.command)
  let { pid } = await up
  return {
    name: peer.name,
    times: [],
    round: async () => {
      up = standIns.next()
      const killed = now()
      process.kill(pid, "SIGKILL")
      const next = await up
      pid = next.pid
      return next.atMs - killed
    },
    close: async () => {
      supervisor.kill("SIGTERM")
      await supervisor.exited
      standIns.close()
    },
  }
}

/** Each round has a Session of its own: its first loss is repaired at once, later ones are waited for. */
const ours = async (): Promise<Contender> => {
  const standIns = openStandIns(({ line }) =>
    speakFor({ bootstrap: SessionBootstrap.parse(JSON.parse(line)), scopes: 1 }),
  )
  const stage = await openStage({ sessionHost: standIns.command })
  await stage.startAttached()
  const { computer } = stage
  return {
    name: "computerd",
    times: [],
    round: async () => {
      let up = standIns.next()
      const sessionId = computer.assign()
      const session = new Set([sessionId])
      const { pid } = await up
      await heard(stage, "process_ready", session)
      up = standIns.next()
      const killed = now()
      process.kill(pid, "SIGKILL")
      const next = await up
      await heard(stage, "process_ready", session, 2)
      computer.controlPlane.command({ type: "release", sessionId, graceMs: 0 })
      await heard(stage, "released", session)
      return next.atMs - killed
    },
    close: async () => {
      await stage.close()
      standIns.close()
    },
  }
}

export const measureRespawns = async (rounds: number): Promise<ReadonlyMap<string, readonly number[]>> => {
  const root = await mkdtemp(join(tmpdir(), "respawn-"))
  const contenders: Contender[] = []
  try {
    contenders.push(await bare(), await ours())
    for (const peer of installedPeers()) contenders.push(await supervised(peer, root))
    for (let round = 0; round <= rounds; round += 1) {
      await Bun.sleep(settleMs)
      for (const { round: once, times } of contenders) {
        const took = await once()
        // The first one warms up.
        if (round > 0) times.push(took)
      }
    }
    return new Map(contenders.map(({ name, times }) => [name, times]))
  } finally {
    for (const { close } of contenders) await close()
    await rm(root, { recursive: true })
  }
}
