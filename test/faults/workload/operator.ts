/** The people around a world: they start the first Sessions, release what was left to a person, and close all at the end. */
import type { Json } from "@computerd/protocol/content"
import type { Outcome } from "../history/record.ts"
import type { World } from "../world/world.ts"

export interface Operator {
  /** Starts a root Session, asking until it is started. */
  readonly start: (key: string) => Promise<string>
  /** Gives a Session work through the public API, asking until it is taken. */
  readonly enqueue: (session: string, key: string) => Promise<void>
  /** Releases every `recovery` hold of those Sessions that nobody owns; with `all`, every hold of every Session. */
  readonly release: (whose: "roots" | "all") => Promise<void>
  /** What is not settled yet. */
  readonly unsettled: () => Promise<readonly string[]>
  readonly closeAll: () => Promise<void>
  /** Sessions that are not closed. */
  readonly open: () => Promise<readonly string[]>
}

const againMs = 100
const callMaxMs = 3_000
/** As receipts name whoever starts a Session from outside. */
const outside = "environment:default"

export const createOperator = ({ plane, book }: World): Operator => {
  const attempt = async (key: string): Promise<string | undefined> => {
    const call = crypto.randomUUID()
    const work = { caller: outside, key, workMs: 20, isStubborn: false }
    const given = {
      agent: "boss",
      input: [{ type: "text" as const, text: JSON.stringify(work) }],
      idempotencyKey: key,
    }
    book.write({ kind: "asked", call, caller: outside, tool: "start", key, arguments: given })
    const started = await plane.client.startSession(given)
    const outcome = started.ok
      ? ({ kind: "answered", value: started.value } as const)
      : ({ kind: "unknown", why: started.error.code } as const)
    book.write({ kind: "outcome", call, outcome })
    return started.ok ? started.value.sessionId : undefined
  }

  const enqueueOnce = async (session: string, key: string): Promise<Outcome> => {
    const call = crypto.randomUUID()
    const { url, key: secret } = plane.api()
    const work = { caller: outside, key, workMs: 20, isStubborn: false }
    const input = [{ type: "text" as const, text: JSON.stringify(work) }]
    const given = { input, idempotencyKey: key }
    book.write({ kind: "asked", call, caller: outside, tool: "enqueue", key, arguments: given })
    const outcome = await fetch(`${url}/v1/sessions/${session}/enqueue`, {
      method: "POST",
      keepalive: false,
      headers: { Authorization: `Bearer ${secret}`, "Content-Type": "application/json" },
      body: JSON.stringify(given),
      signal: AbortSignal.timeout(callMaxMs),
    })
      .then(
        async (answer): Promise<Outcome> =>
          answer.ok
            ? { kind: "answered", value: (await answer.json()) as Json }
            : { kind: "unknown", why: `HTTP ${answer.status}: ${await answer.text()}` },
      )
      .catch((error: unknown): Outcome => ({ kind: "unknown", why: String(error) }))
    book.write({ kind: "outcome", call, outcome })
    return outcome
  }

  return {
    enqueue: async (session, key) => {
      while ((await enqueueOnce(session, key)).kind !== "answered") await Bun.sleep(againMs)
    },
    start: async (key) => {
      for (;;) {
        const session = await attempt(key)
        if (session !== undefined) return session
        await Bun.sleep(againMs)
      }
    },
    release: async (whose) => {
      const sessions = (await plane.snapshot())?.sessions ?? []
      for (const { id, holds, parent, status } of sessions) {
        if (status === "closed" || (whose === "roots" && parent !== null)) continue
        for (const hold of holds) {
          if (hold.sessionId !== id || (whose === "roots" && hold.kind !== "recovery")) continue
          await plane.control({ kind: "release", sessionId: id, holdId: hold.id })
        }
      }
    },
    unsettled: async () => {
      const seen = await plane.snapshot()
      if (seen === undefined) return ["the control plane does not answer"]
      return seen.sessions.flatMap(({ id, turns }) =>
        turns
          .filter(({ settledAtMs }) => settledAtMs === null)
          .map((turn) => `${turn.id} of ${id} is ${turn.status}`),
      )
    },
    closeAll: async () => {
      for (const { id, status } of (await plane.snapshot())?.sessions ?? [])
        if (status === "open") await plane.control({ kind: "close", sessionId: id })
    },
    open: async () => {
      const seen = await plane.snapshot()
      if (seen === undefined) return ["the control plane does not answer"]
      return seen.sessions
        .filter(({ status }) => status !== "closed")
        .map(({ id, status }) => `${id} is ${status}`)
    },
  }
}
