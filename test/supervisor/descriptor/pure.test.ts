import { expect, test } from "bun:test"
import { Generation, idSource } from "@computerd/protocol/ids"
import { properScopesMax } from "@computerd/protocol/limits"
import { processAuthority, requestAdmission } from "@computerd/supervisor/descriptor/authority"
import { createTokenIndex } from "@computerd/supervisor/descriptor/lookup"
import { candidatePorts } from "@computerd/supervisor/descriptor/port"
import { retain } from "@computerd/supervisor/descriptor/scopes"
import { authorizationFor, processKeyBytes } from "@computerd/supervisor/descriptor/token"
import type { LeaseState } from "@computerd/supervisor/link/lease"
import type { SessionView } from "@computerd/supervisor/session/sessions"
import fc from "fast-check"
import { newAssignment } from "../harness.ts"

const newId = idSource(() => Bun.randomUUIDv7())
const key = fc.uint8Array({ minLength: processKeyBytes, maxLength: processKeyBytes })
const digest = fc.stringMatching(/^[0-9a-f]{64}$/)

test("R13 R15 equal key and scope give equal headers, and whatever differs gives another", () => {
  fc.assert(
    fc.property(key, key, digest, digest, (keyA, keyB, scopeA, scopeB) => {
      expect(authorizationFor(keyA, scopeA)).toBe(authorizationFor(Uint8Array.from(keyA), scopeA))
      if (scopeA !== scopeB) expect(authorizationFor(keyA, scopeA)).not.toBe(authorizationFor(keyA, scopeB))
      if (Buffer.compare(keyA, keyB) !== 0)
        expect(authorizationFor(keyA, scopeA)).not.toBe(authorizationFor(keyB, scopeA))
    }),
  )
})

test("R7 a header is a bearer token of 256 bits that shows neither its key nor its scope", () => {
  fc.assert(
    fc.property(key, digest, (processKey, scope) => {
      const header = authorizationFor(processKey, scope)
      expect(header).toMatch(/^Bearer [A-Za-z0-9_-]{43}$/)
      expect(header).not.toContain(Buffer.from(processKey).toString("base64url").slice(0, 16))
    }),
  )
})

test("an index finds exactly the headers that were added, and none once it is cleared", () => {
  fc.assert(
    fc.property(key, fc.uniqueArray(digest, { minLength: 1, maxLength: 16 }), (processKey, digests) => {
      const index = createTokenIndex<string>(new Uint8Array(32).fill(7))
      for (const scope of digests) index.add(authorizationFor(processKey, scope), scope)
      for (const scope of digests) {
        const header = authorizationFor(processKey, scope)
        expect(index.find(header)).toBe(scope)
        const near = [
          header.slice(0, -1),
          `${header}A`,
          header.toLowerCase(),
          ` ${header}`,
          header.slice(7),
          "",
        ]
        for (const other of near) if (other !== header) expect(index.find(other)).toBeUndefined()
      }
      index.clear()
      for (const scope of digests) expect(index.find(authorizationFor(processKey, scope))).toBeUndefined()
    }),
  )
})

test("R16 R17 R18 R19 the maximum never counts, fifteen others fit, the next is refused and changes nothing", () => {
  const proper = Array.from({ length: properScopesMax }, (_, index) => `proper-${index}`)
  const codeOf = (asked: string, retained: readonly string[]): string => {
    const result = retain({ asked, maximum: "maximum", retained: new Set(retained) })
    return result.ok ? result.value : result.error.code
  }
  for (const [index, asked] of proper.entries()) expect(codeOf(asked, proper.slice(0, index))).toBe("added")
  expect(codeOf("one-more", proper)).toBe("runtime_mcp_scope_limit")
  expect(codeOf("one-more", [...proper, "maximum"])).toBe("runtime_mcp_scope_limit")
  expect(codeOf("maximum", proper)).toBe("added")
  expect(codeOf("one-more", ["maximum", ...proper.slice(1)])).toBe("added")
  for (const asked of proper) expect(codeOf(asked, [...proper, "maximum"])).toBe("retained")
})

test("a scope is retained at most once and no history exceeds the limit", () => {
  fc.assert(
    fc.property(fc.array(fc.integer({ min: 0, max: 30 }), { maxLength: 80 }), (asks) => {
      const retained = new Set<string>()
      for (const ask of asks) {
        const asked = ask === 0 ? "maximum" : `proper-${ask}`
        const before = retained.has(asked)
        const result = retain({ asked, maximum: "maximum", retained })
        if (result.ok) {
          expect(result.value).toBe(before ? "retained" : "added")
          retained.add(asked)
        } else expect(retained.size).toBeGreaterThanOrEqual(properScopesMax)
      }
      expect(retained.size).toBeLessThanOrEqual(properScopesMax + 1)
    }),
  )
})

test("candidate ports lie in the range, once each, and a Session always begins at the same one", () => {
  fc.assert(
    fc.property(fc.integer({ min: 1024, max: 65_000 }), fc.integer({ min: 0, max: 400 }), (first, size) => {
      const range = { first, last: Math.min(65_535, first + size) }
      const session = newId("ses")
      const ports = candidatePorts(range, session)
      expect(new Set(ports).size).toBe(ports.length)
      expect(ports.every((port) => port >= range.first && port <= range.last)).toBe(true)
      expect(ports.length).toBe(Math.min(256, range.last - range.first + 1))
      expect(candidatePorts(range, session)).toEqual(ports)
    }),
  )
})

const process = { sessionId: newId("ses"), generation: Generation.parse(2) }
const view = (part: Partial<SessionView> = {}): SessionView => ({
  sessionId: process.sessionId,
  assignment: newAssignment("probe"),
  state: "running",
  generation: 2,
  pid: 1,
  turn: undefined,
  held: false,
  shuttingDown: false,
  lastExit: undefined,
  ...part,
})
const held: LeaseState = { state: "held", epoch: 1 as never, remainingMs: 1 }

test("R14 every check of authority is made anew, whatever was handed out before", () => {
  const ended = [
    undefined,
    view({ generation: 3 }),
    view({ generation: 1 }),
    view({ shuttingDown: true }),
    view({ state: "exited" }),
  ]
  for (const gone of ended) {
    const result = processAuthority(process, gone)
    expect(result.ok ? "" : result.error.code).toBe("session_shutdown")
    expect(requestAdmission(process, gone, held)).toBe("shutting_down")
  }
  expect(processAuthority(process, view()).ok).toBe(true)
  expect(requestAdmission(process, view(), held)).toBe("open")
})

test("a hold stops requests and not the getter; no lease stops requests", () => {
  expect(requestAdmission(process, view({ held: true }), held)).toBe("held")
  expect(processAuthority(process, view({ held: true })).ok).toBe(true)
  expect(requestAdmission(process, view(), { state: "none" })).toBe("no_lease")
  expect(requestAdmission(process, view(), { state: "lapsed", epoch: 1 as never })).toBe("no_lease")
})
