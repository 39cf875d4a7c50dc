import { expect, test } from "bun:test"
import type { Ports } from "@helmr/sdk/client/ports"
import { createSessions } from "@helmr/sdk/client/sessions"
import { failureOf, id, json, manualTime, refusal, transportTo } from "./fake.ts"

const settled = { status: "settled", outcome: { status: "completed", result: { n: 1 }, response: [] } }

/** Each request takes the time that it asks for, as a server without news lets it. */
const waiting = (
  answer: (askedMs: number, number: number) => { ms: number; response: Response } | "silent" | "cut",
) => {
  const time = manualTime()
  const asked: number[] = []
  const fetch: Ports["fetch"] = (url, init) => {
    const askedMs = Number(new URL(url).searchParams.get("timeoutMs"))
    asked.push(askedMs)
    const given = answer(askedMs, asked.length - 1)
    return new Promise((resolve, reject) => {
      if (given === "cut") return reject(new Error("cut"))
      init.signal?.addEventListener("abort", () => reject(init.signal?.reason), { once: true })
      if (given === "silent") return
      time.advance(given.ms)
      resolve(given.response)
    })
  }
  const transport = transportTo("http://h", { ...time.ports, fetch })
  return { time, asked, turn: createSessions(transport).handle(id("ses")).turn(id("trn")) }
}

const timeout = (ms: number) => ({ ms, response: json({ status: "timeout" }) })

test("a wait of more than a minute is several requests, the last one for what is left", async () => {
  const { asked, turn, time } = waiting((askedMs) => timeout(askedMs))
  expect(await turn.wait({ timeoutMs: 150_000 })).toEqual({ status: "timeout" })
  expect(asked).toEqual([60_000, 60_000, 30_000])
  expect(time.timers()).toBe(0)
})

test("it is answered as soon as the Turn has settled, with the outcome", async () => {
  const { asked, turn } = waiting((askedMs, number) =>
    number < 2 ? timeout(askedMs) : { ms: 10, response: json({ ...settled, later: true }) },
  )
  expect(await turn.wait({ timeoutMs: Number.POSITIVE_INFINITY })).toEqual({
    status: "settled",
    outcome: { status: "completed", result: { n: 1 }, response: [] },
  })
  expect(asked).toEqual([60_000, 60_000, 60_000])
})

test("a server that waits less than it is asked to is asked again, until the time is over", async () => {
  const { asked, turn } = waiting((askedMs) => timeout(Math.min(askedMs, 1_000)))
  expect(await turn.wait({ timeoutMs: 2_500 })).toEqual({ status: "timeout" })
  expect(asked).toEqual([2_500, 1_500, 500])
})

test("without a time it is one minute, and a wait of less than a millisecond asks for one", async () => {
  const usual = waiting((askedMs) => timeout(askedMs))
  await usual.turn.wait()
  expect(usual.asked).toEqual([60_000])
  const short = waiting((askedMs) => timeout(askedMs))
  await short.turn.wait({ timeoutMs: 0.2 })
  expect(short.asked).toEqual([1])
})

test("after a cut it asks for the time that is left, not for the whole again", async () => {
  const { asked, turn, time } = waiting((askedMs, number) => {
    if (number > 0) return timeout(askedMs)
    time.advance(40_000)
    return "cut"
  })
  const answer = turn.wait({ timeoutMs: 60_000 })
  await time.waiting(187.5)
  time.advance(187.5)
  expect(await answer).toEqual({ status: "timeout" })
  expect(asked).toEqual([60_000, 19_813])
})

test("a wait goes on over an outage of most of a minute, however often it has to ask", async () => {
  let upAtMs = 0
  const { asked, turn, time } = waiting((askedMs, number) => {
    if (number === 0) upAtMs = time.ports.now() + 50_000
    return time.ports.now() < upAtMs ? "cut" : timeout(askedMs)
  })
  const answer = turn.wait({ timeoutMs: 120_000 })
  let done = false
  void answer.finally(() => {
    done = true
  })
  while (!done) {
    await new Promise(setImmediate)
    time.advance(100)
  }
  expect(await answer).toEqual({ status: "timeout" })
  expect(asked.length).toBeGreaterThan(9)
})

test("where nothing answers a short wait fails soon after its time", async () => {
  const { turn, time } = waiting(() => "silent")
  const error = failureOf(turn.wait({ timeoutMs: 100 }))
  await time.waiting(15_100)
  time.advance(15_100)
  expect(await error).toMatchObject({ name: "HelmrConnectionError" })
  expect(time.timers()).toBe(0)
})

test("a wait ends with the reason of its signal, and with a refusal", async () => {
  const { turn, time } = waiting(() => "silent")
  const abort = new AbortController()
  const reason = new Error("enough")
  const error = failureOf(turn.wait({ signal: abort.signal }))
  abort.abort(reason)
  expect(await error).toBe(reason)
  expect(time.timers()).toBe(0)
  const gone = waiting(() => ({ ms: 0, response: refusal("not_found", 404) }))
  expect(await failureOf(gone.turn.wait())).toMatchObject({ code: "not_found" })
  expect(gone.asked).toHaveLength(1)
})

test("what is no time is refused by name", async () => {
  const { asked, turn } = waiting((askedMs) => timeout(askedMs))
  for (const timeoutMs of [0, -5, Number.NaN])
    expect(await failureOf(turn.wait({ timeoutMs }))).toMatchObject({ field: "timeoutMs" })
  expect(asked).toEqual([])
})
