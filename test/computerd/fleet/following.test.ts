import { expect, test } from "bun:test"
import { follow } from "@computerd/computerd/fleet/follow/follow"
import { noPast } from "@computerd/computerd/fleet/follow/past"
import { createInterrupt } from "@computerd/computerd/interrupt"
import { systemPorts } from "@computerd/computerd/ports"
import type { SessionEvent, SessionHandle, StreamEventsOptions } from "@helmr/sdk"
import { sink } from "../sink.ts"

const root = "ses_00000000-0000-7000-8000-000000000001"
const ready = (generation: number): SessionEvent => ({
  cursor: `c${generation}`,
  sequence: generation,
  sessionId: root,
  at: "2026-01-01T00:00:00.000Z",
  type: "process_ready",
  generation,
})

/** A Session that says what it is told to, and whose stream is open until it is aborted. */
const scene = () => {
  const [out, err] = [sink(), sink()]
  const signals = new Map<string, () => void>()
  const interrupt = createInterrupt((signal, listener) => {
    signals.set(signal, listener)
    return () => undefined
  })
  const waiting: SessionEvent[] = []
  let wake = (): void => undefined
  let taken = 0
  let open = true
  const stream = async function* ({ signal }: StreamEventsOptions = {}) {
    try {
      while (signal?.aborted !== true) {
        const event = waiting.shift()
        if (event !== undefined) {
          taken += 1
          yield event
        } else
          await new Promise<void>((resolve) => {
            wake = resolve
            signal?.addEventListener("abort", () => resolve(), { once: true })
          })
      }
    } finally {
      open = false
    }
  }
  const session = { id: root, events: { stream } } as unknown as SessionHandle
  const deps = { ports: systemPorts, interrupt, out: out.stream, err: err.stream, environment: {} }
  const stdin = (async function* () {})()
  return {
    out,
    err,
    taken: () => taken,
    isOpen: () => open,
    say: (...events: readonly SessionEvent[]) => {
      waiting.push(...events)
      wake()
    },
    interrupt: () => signals.get("SIGINT")!(),
    follow: (json: boolean, turnId?: string) =>
      follow({ session, past: noPast, turnId, json }, { ...deps, stdin }).then(
        () => "ended",
        (error: unknown) => (interrupt.stop.aborted ? "interrupted" : error),
      ),
  }
}

const settle = () => new Promise((resolve) => setImmediate(resolve))

test("an interrupt ends the following alone, and the place where it ended is said", async () => {
  const one = scene()
  const following = one.follow(false)
  one.say(ready(1), ready(2))
  await settle()
  one.interrupt()
  expect(await following).toBe("interrupted")
  expect(one.err.text()).toEndWith(
    `process 2 ready\ncomputerd: the work goes on; computerd fleet follow ${root} --after c2 shows what comes\n`,
  )
  expect({ out: one.out.text(), isOpen: one.isOpen() }).toEqual({ out: "", isOpen: false })
})

test("a Session is followed for its reader, and not beyond", async () => {
  const one = scene()
  const following = one.follow(true)
  one.say(ready(1))
  await settle()
  one.out.leave()
  one.say(ready(2))
  expect(await following).toBe("ended")
  expect(one.out.text()).toBe(`${JSON.stringify(ready(1))}\n`)
})

test("the end of a Turn is waited for without a reader of the events: the exit code says it too", async () => {
  const one = scene()
  const following = one.follow(true, "t")
  one.out.leave()
  one.say(ready(1))
  await settle()
  one.say({ ...ready(2), type: "turn_settled", turnId: "t", status: "completed", errorCode: null })
  expect(await following).toBe("ended")
  expect(one.isOpen()).toBe(false)
})

for (const json of [true, false])
  test(`a reader that stops is waited for and fills no memory, and does not keep an interrupt waiting (${json ? "JSON" : "lines"})`, async () => {
    const one = scene()
    const shown = json ? one.out : one.err
    shown.hold()
    const following = one.follow(json)
    one.say(...Array.from({ length: 50 }, (_, n) => ready(n + 1)))
    await settle()
    expect(one.taken()).toBe(1)
    shown.release()
    await settle()
    expect(one.taken()).toBe(50)
    expect(shown.text().trim().split("\n")).toHaveLength(50)
    // What is said at the end goes to standard error, which is read here.
    if (json) shown.hold()
    one.say(ready(51))
    await settle()
    one.interrupt()
    expect(await following).toBe("interrupted")
  })
