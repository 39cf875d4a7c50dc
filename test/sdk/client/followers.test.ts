import { expect, setDefaultTimeout, test } from "bun:test"
import { HelmrClient, type SessionEvent } from "@helmr/sdk"
import { createRig } from "../../control-plane/api/rig.ts"
import { openCutter, randomFrom } from "./cutter.ts"

setDefaultTimeout(60_000)

const followersMax = 100
const pieces = 120

test("100 followers of one Session see every event once and in order, over cuts and a control-plane restart", async () => {
  const seed = Number(process.env["CLIENT_FOLLOWERS_SEED"] ?? Math.trunc(Math.random() * 2 ** 31))
  const rig = await createRig()
  const api = rig.client()
  rig.publish(["lead"])
  const started = await rig.start(api)
  const supervisor = rig.run(started)
  const cutter = await openCutter({
    port: Number(new URL(rig.url).port),
    random: randomFrom(seed),
    cutWithinBytes: 20_000,
    cutChance: 0.6,
  })
  try {
    const client = new HelmrClient({ baseUrl: cutter.url, apiKey: api.key })
    const progress = new Set<() => void>()
    const seen = Array.from({ length: followersMax }, (): SessionEvent[] => [])
    const follow = async (events: SessionEvent[]): Promise<void> => {
      for await (const event of client.sessions.handle(started.sessionId).events.stream()) {
        events.push(event)
        for (const look of progress) look()
      }
    }
    const everybodyHas = (count: number): Promise<void> =>
      new Promise((resolve) => {
        const look = (): void => {
          if (!seen.every((events) => events.length >= count)) return
          progress.delete(look)
          resolve()
        }
        progress.add(look)
        look()
      })
    const say = (from: number, to: number): void => {
      for (let piece = from; piece < to; piece += 1) {
        const { sessionId, turnId } = started
        const generation = supervisor.generation(sessionId)
        const told = supervisor.emit({
          type: "turn_output",
          sessionId,
          generation,
          turnId,
          text: `${piece} ${"x".repeat(400)}`,
        })
        if (!told.ok) throw new Error(told.error.message)
      }
    }

    const all = seen.map((events) => follow(events))
    say(0, pieces / 3)
    await everybodyHas(pieces / 6)
    await rig.restart()
    supervisor.attach()
    say(pieces / 3, (2 * pieces) / 3)
    await everybodyHas(pieces / 2)
    say((2 * pieces) / 3, pieces)
    supervisor.settle(started.sessionId, started.turnId)
    const session = new HelmrClient({ baseUrl: rig.url, apiKey: api.key }).sessions.handle(started.sessionId)
    await session.close()
    await Promise.all(all)

    const whole: SessionEvent[] = []
    for (let after: string | undefined, more = true; more; ) {
      const page = await session.events.list({ after, limit: 100 })
      whole.push(...page.events)
      after = page.nextCursor
      more = page.more
    }
    expect(whole.filter(({ type }) => type === "turn_output")).toHaveLength(pieces)
    expect(whole.at(-1)?.type).toBe("session_closed")
    for (const events of seen) expect(events).toEqual(whole)
    expect(cutter.cuts()).toBeGreaterThan(followersMax)
  } catch (error) {
    throw new Error(`with CLIENT_FOLLOWERS_SEED=${seed}`, { cause: error })
  } finally {
    await cutter.close()
    await rig.close()
  }
})
