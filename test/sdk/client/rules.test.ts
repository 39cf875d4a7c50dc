import { describe, expect, test } from "bun:test"
import { computerRoutes } from "@computerd/protocol/api/computers"
import { deploymentRoutes } from "@computerd/protocol/api/deployments"
import { eventRoutes } from "@computerd/protocol/api/events"
import type { Route } from "@computerd/protocol/api/route"
import { allRoutes } from "@computerd/protocol/api/routes"
import { sessionRoutes } from "@computerd/protocol/api/sessions"
import { ErrorCode, errorTraits } from "@computerd/protocol/errors"
import type { Outcome } from "@helmr/sdk/client/transport/outcome"
import { refusalOf } from "@helmr/sdk/client/transport/refusal"
import { requestOf } from "@helmr/sdk/client/transport/request"
import { backoffMs, mayPass, nextDelayMs } from "@helmr/sdk/client/transport/retry"
import { HelmrError } from "@helmr/sdk/error"
import fc from "fast-check"
import { id } from "./fake.ts"

const asIs = (text: string): string => text

const outcome: fc.Arbitrary<Outcome<unknown>> = fc.oneof(
  fc.constant({ kind: "answered" as const, value: 1 }),
  fc.constant({ kind: "unreachable" as const, message: "cut" }),
  fc.constant({ kind: "unexpected" as const, message: "odd" }),
  fc.record({
    kind: fc.constant("refused" as const),
    refusal: fc.record({
      status: fc.integer({ min: 400, max: 599 }),
      code: fc.option(fc.constantFrom(...ErrorCode.options), { nil: undefined }),
      message: fc.constant("no"),
      field: fc.constant(undefined),
      retryAfterMs: fc.option(fc.nat(2_000_000), { nil: undefined }),
    }),
  }),
)
const attempted = fc.record({
  outcome,
  attempt: fc.integer({ min: 1, max: 16 }),
  maxRetries: fc.constantFrom(0, 1, 7, Number.POSITIVE_INFINITY),
  repeatable: fc.boolean(),
  remainingMs: fc.nat(3_000_000),
  random: fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }),
})

describe("retry", () => {
  test("Y1 nothing is repeated that changes something and has no key, nor more often than is bounded", () => {
    fc.assert(
      fc.property(attempted, (given) => {
        if (!given.repeatable || given.attempt > given.maxRetries) expect(nextDelayMs(given)).toBeUndefined()
      }),
    )
  })

  test("Y2 an answer, a foreign answer and a refusal that the server calls final are never repeated", () => {
    fc.assert(
      fc.property(attempted, (given) => {
        const last = given.outcome
        const isFinal =
          last.kind === "answered" ||
          last.kind === "unexpected" ||
          (last.kind === "refused" &&
            (last.refusal.code === undefined
              ? ![408, 425, 429, 500, 502, 503, 504].includes(last.refusal.status)
              : !errorTraits[last.refusal.code].retryable))
        expect(mayPass(last)).toBe(!isFinal)
        if (isFinal) expect(nextDelayMs(given)).toBeUndefined()
      }),
    )
  })

  test("Y3 a pause is no shorter than Retry-After, and shorter than the time that is left", () => {
    fc.assert(
      fc.property(attempted, (given) => {
        const delayMs = nextDelayMs(given)
        const askedMs = given.outcome.kind === "refused" ? (given.outcome.refusal.retryAfterMs ?? 0) : 0
        const wantedMs = Math.max(askedMs, backoffMs(given.attempt, given.random))
        if (delayMs !== undefined) {
          expect(delayMs).toBe(wantedMs)
          expect(delayMs).toBeLessThan(given.remainingMs)
        } else if (given.repeatable && given.attempt <= given.maxRetries && mayPass(given.outcome))
          expect(wantedMs).toBeGreaterThanOrEqual(given.remainingMs)
      }),
    )
  })

  test("the pause doubles to its bound, and half of it is chance", () => {
    expect([1, 2, 3, 4, 5, 6, 20].map((attempt) => backoffMs(attempt, 0))).toEqual([
      125, 250, 500, 1000, 2000, 2500, 2500,
    ])
    expect([1, 6].map((attempt) => backoffMs(attempt, 0.5))).toEqual([187.5, 3750])
  })
})

describe("refusal", () => {
  const read = (text: string, fields: { status?: number; retryAfter?: string | null } = {}) =>
    refusalOf({ status: 400, retryAfter: null, hide: asIs, text, ...fields })

  test("the envelope of the API is read", () => {
    const text = JSON.stringify({
      error: { code: "not_found", message: "no such Session", field: "a[0]", x: 1 },
    })
    expect(read(text, { status: 404 })).toEqual({
      status: 404,
      code: "not_found",
      message: "no such Session",
      field: "a[0]",
      retryAfterMs: undefined,
    })
  })

  test("a code of a later version keeps its name and message, and has no code of ours", () => {
    const refusal = read('{"error":{"code":"too_lunar","message":"wait for the moon"}}')
    expect([refusal.code, refusal.message]).toEqual([undefined, "too_lunar: wait for the moon"])
  })

  test("a page of somebody else is shown on one line and not whole", () => {
    const { code, message } = read(`<html>\n\n<h1>Bad  gateway</h1>${"x".repeat(5000)}`, { status: 502 })
    expect(code).toBeUndefined()
    expect(message).toStartWith("the server answered 502: <html> <h1>Bad gateway</h1>xxx")
    expect(message.length).toBeLessThan(250)
    expect(read("", { status: 504 }).message).toBe("the server answered 504")
  })

  test("whatever comes is a refusal, and neither it nor its absence throws", () => {
    fc.assert(
      fc.property(fc.oneof(fc.string(), fc.json()), fc.option(fc.string()), (text, retryAfter) => {
        const refusal = read(text, { retryAfter })
        expect(typeof refusal.message).toBe("string")
        expect(refusal.retryAfterMs ?? 0).toBeGreaterThanOrEqual(0)
      }),
    )
    expect(read('{"error":{"code":"__proto__"}}').code).toBeUndefined()
    expect(read('{"error":{"code":"not_found","message":7,"field":{}}}')).toMatchObject({
      message: "not_found",
      field: undefined,
    })
  })

  test.each([
    ["0", 0],
    ["7", 7_000],
    [" 12 ", 12_000],
    ["-1", undefined],
    ["1.5", undefined],
    ["1e3", undefined],
    ["99999999", undefined],
    ["Wed, 21 Oct 2026 07:28:00 GMT", undefined],
    [null, undefined],
  ] as const)("Retry-After %p is %p ms", (retryAfter, ms) => {
    expect(read("", { retryAfter }).retryAfterMs).toBe(ms)
  })
})

describe("request", () => {
  const call = (route: Route, fields: { params?: unknown; query?: unknown; body?: unknown } = {}) =>
    requestOf<Route>({ route, params: {}, query: {}, body: undefined, ...fields } as never)
  const refused = (run: () => unknown): HelmrError => {
    try {
      run()
    } catch (error) {
      if (error instanceof HelmrError) return error
    }
    throw new Error("it was not refused")
  }

  test("an id of any other form is refused by name before anything is sent, and is not repeated", () => {
    const odd = fc.oneof(
      fc.string(),
      fc.constantFrom(
        "..",
        ".",
        "",
        "%2e%2e",
        `${id("ses")}/../..`,
        `${id("ses")}?x=1`,
        `${id("ses")}\n`,
        id("trn"),
      ),
      fc.constant(null),
      fc.constant(undefined),
      fc.nat(),
    )
    fc.assert(
      fc.property(odd, (sessionId) => {
        const error = refused(() => call(sessionRoutes.get, { params: { sessionId } }))
        expect([error.code, error.field]).toEqual(["invalid_arguments", "sessionId"])
        if (typeof sessionId === "string" && sessionId.length > 9)
          expect(error.message).not.toContain(sessionId)
      }),
    )
  })

  test("parameters stand in their place, whatever route it is", () => {
    const params = { sessionId: id("ses"), turnId: id("trn"), questionId: id("qst") }
    const own = { deploymentId: id("dep"), computerId: id("cmp"), agent: "a.b-c_d", template: "T1" }
    for (const route of allRoutes) {
      const names = [...route.path.matchAll(/:(\w+)/g)].map((match) => match[1] ?? "")
      const all: Record<string, string> = { ...params, ...own }
      const given = Object.fromEntries(names.map((name) => [name, all[name]]))
      const query = route.query.safeParse({}).success ? {} : { idempotencyKey: "k", timeoutMs: 5 }
      const fitting = Object.fromEntries(
        Object.entries(query).filter(([name]) => (route.name === "waitTurn") === (name === "timeoutMs")),
      )
      const body = route.body.kind === "archive" ? new Uint8Array(1) : {}
      const { target, method } = call(route, { params: given, query: fitting, body })
      expect(method).toBe(route.method)
      expect(new URL(target, "http://h").pathname).toBe(
        route.path.replaceAll(/:(\w+)/g, (_, name: string) => all[name] ?? ""),
      )
    }
  })

  test("any well-formed query arrives as it was given", () => {
    const text = fc.string({ unit: "grapheme", minLength: 1, maxLength: 40 })
    fc.assert(
      fc.property(text, (after) => {
        const { target } = call(eventRoutes.list, {
          params: { sessionId: id("ses") },
          query: { after, limit: undefined, tree: "true" },
        })
        const { searchParams, hash } = new URL(target, "http://h")
        expect([...searchParams]).toEqual([
          ["after", after],
          ["tree", "true"],
        ])
        expect(hash).toBe("")
      }),
    )
  })

  test("a key in the URL that its encoding would change is refused, as the server refuses it in a body", () => {
    for (const idempotencyKey of ["a\uD800", "a\0", "", "é".repeat(300)]) {
      const error = refused(() =>
        call(computerRoutes.delete, { params: { computerId: id("cmp") }, query: { idempotencyKey } }),
      )
      expect([error.code, error.field]).toEqual(["invalid_arguments", "idempotencyKey"])
    }
  })

  test("a page size that no server takes is refused by name", () => {
    for (const limit of [0, 101, 1.5, Number.NaN])
      expect(refused(() => call(sessionRoutes.list, { query: { limit } })).field).toBe("limit")
  })

  test("Y1 what only reads may be repeated, and what has a key", () => {
    const body = new Uint8Array(3)
    const query = { idempotencyKey: "k" }
    const archive = { route: deploymentRoutes.publish, params: {}, query, body }
    expect(requestOf(archive).repeatable).toBe(false)
    expect(requestOf({ ...archive, idempotencyKey: "k" }).repeatable).toBe(true)
    expect(call(sessionRoutes.list).repeatable).toBe(true)
  })

  test("what is no bytes is no archive", () => {
    const query = { idempotencyKey: "k" }
    for (const body of ["tar", [1, 2], new Uint8Array(new SharedArrayBuffer(3))])
      expect(refused(() => call(deploymentRoutes.publish, { query, body })).field).toBe("archive")
  })
})
