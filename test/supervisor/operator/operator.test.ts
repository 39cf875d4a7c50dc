import { afterAll, beforeAll, expect, test } from "bun:test"
import { existsSync, mkdirSync, mkdtempSync, rmSync, statSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { exitText } from "@computerd/protocol/exit"
import { idSource } from "@computerd/protocol/ids"
import { operatorSocketName, type Status } from "@computerd/protocol/operator"
import { readStatus } from "@computerd/supervisor/operator/client"
import { type OperatorServer, openOperatorServer } from "@computerd/supervisor/operator/http"
import { renderStatus } from "@computerd/supervisor/operator/render"

const newId = idSource(() => Bun.randomUUIDv7())
const nowMs = Date.parse("2026-03-01T12:00:00.000Z")
const sessionId = newId("ses")
const turnId = newId("trn")

const status: Status = {
  version: "1.2.3",
  pid: 4242,
  startedAt: "2026-03-01T10:30:00.000Z",
  bootId: "boot",
  computer: {
    id: newId("cmp"),
    stateDirectory: "/state",
    workspace: "/workspace",
    isolation: "process_group",
    degraded: ["the limits of Sessions are not in force: no control group"],
  },
  link: {
    state: "backing_off",
    url: "ws://127.0.0.1:4000/computers/v1/link",
    since: "2026-03-01T11:59:30.000Z",
    attempts: 3,
    lastError: "no connection",
    unacknowledgedEvents: 7,
  },
  lease: { state: "held", epoch: 5, remainingMs: 42_000 },
  sessions: [
    {
      id: sessionId,
      agent: "auditor",
      deploymentId: newId("dep"),
      state: "running",
      generation: 2,
      pid: 77,
      held: true,
      turnId,
      turnStartedAt: "2026-03-01T11:58:55.000Z",
      mcpPort: 23_456,
      scopes: 1,
      lastExit: "killed by SIGKILL",
    },
  ],
}

let directory: string
let server: OperatorServer
let ready = false
let current: Status | undefined = status
const faults: string[] = []
const fault = (message: string): number => faults.push(message)

const open = (stateDirectory: string): OperatorServer => {
  const opened = openOperatorServer({ stateDirectory, status: () => current, ready: () => ready, fault })
  if (!opened.ok) throw new Error(opened.error.message)
  return opened.value
}

beforeAll(() => {
  directory = mkdtempSync(join(tmpdir(), "computerd-operator-"))
  server = open(directory)
})

afterAll(async () => {
  await server.close()
  rmSync(directory, { recursive: true, force: true })
})

const get = (path: string, method = "GET"): Promise<Response> =>
  fetch(`http://supervisor${path}`, { unix: server.socketPath, method })

test("the socket answers the status, and only its owner may open it", async () => {
  expect(statSync(server.socketPath).mode & 0o777).toBe(0o600)
  expect(await readStatus(server.socketPath)).toEqual({ ok: true, value: status })
})

test("liveness is an answer, readiness is the link", async () => {
  expect((await get("/healthz")).status).toBe(200)
  ready = false
  expect((await get("/readyz")).status).toBe(503)
  ready = true
  expect((await get("/readyz")).status).toBe(200)
})

test("an unknown path and an unknown method give an error value and no trace of the source", async () => {
  for (const response of [await get("/v1/secrets"), await get("/v1/status", "POST")]) {
    expect(response.status).toBe(404)
    const text = await response.text()
    expect(JSON.parse(text)).toMatchObject({ code: "not_found" })
    expect(text).not.toContain("supervisor/operator")
  }
})

test("a status that cannot be gathered is an internal error without its cause", async () => {
  current = status
  const failing = openOperatorServer({
    stateDirectory: mkdtempSync(join(directory, "failing-")),
    status: () => {
      throw new Error("the secret cause")
    },
    ready: () => false,
    fault,
  })
  if (!failing.ok) throw new Error(failing.error.message)
  const result = await readStatus(failing.value.socketPath)
  expect(result.ok ? "" : result.error.code).toBe("internal")
  expect(JSON.stringify(result)).not.toContain("secret cause")
  expect(faults).toEqual(["the secret cause"])
  await failing.value.close()
})

test("a supervisor that is still starting says so", async () => {
  current = undefined
  const result = await readStatus(server.socketPath)
  expect(result.ok ? "" : result.error.message).toContain("starting")
  current = status
})

test("no socket, a stale socket and a foreign file each say what is the matter", async () => {
  const messageOf = async (path: string): Promise<string> => {
    const result = await readStatus(path)
    return result.ok ? "answered" : `${result.error.code}: ${result.error.message}`
  }
  const missing = join(directory, "nowhere", operatorSocketName)
  expect(await messageOf(missing)).toBe(
    `not_found: no supervisor runs here: there is no socket at ${missing}`,
  )
  const stale = join(directory, "stale.sock")
  const script = `Bun.listen({unix:${JSON.stringify(stale)},socket:{data(){}}}); process.kill(process.pid, "SIGKILL")`
  await Bun.spawn([process.execPath, "-e", script]).exited
  expect(existsSync(stale)).toBe(true)
  expect(await messageOf(stale)).toContain("not_found: no supervisor answers")
})

test("a stale socket is replaced, a live one is gone with its server", async () => {
  const state = mkdtempSync(join(directory, "replaced-"))
  const path = join(state, operatorSocketName)
  const script = `Bun.listen({unix:${JSON.stringify(path)},socket:{data(){}}}); process.kill(process.pid, "SIGKILL")`
  await Bun.spawn([process.execPath, "-e", script]).exited
  const replaced = open(state)
  expect((await readStatus(path)).ok).toBe(true)
  await replaced.close()
  expect(existsSync(path)).toBe(false)
})

test("a state directory that is too deep for a socket's address works like any other", async () => {
  const deep = join(directory, ...Array.from({ length: 6 }, (_, index) => `${index}-${"d".repeat(40)}`))
  mkdirSync(deep, { recursive: true })
  const far = open(deep)
  expect(far.socketPath.length).toBeGreaterThan(250)
  expect(await readStatus(far.socketPath)).toEqual({ ok: true, value: status })
  expect(statSync(far.socketPath).mode & 0o777).toBe(0o600)
  await far.close()
  expect(existsSync(far.socketPath)).toBe(false)
})

test("a folder that cannot be written gives an error that names the socket", () => {
  const opened = openOperatorServer({
    stateDirectory: join(directory, "missing"),
    status: () => status,
    ready: () => true,
    fault,
  })
  expect(opened.ok ? "" : opened.error.message).toContain(join(directory, "missing", operatorSocketName))
})

test("a status tells that everything is frozen, and since when", () => {
  const frozenSince = new Date(nowMs - 75_000).toISOString()
  const text = renderStatus({ ...status, computer: { ...status.computer, frozenSince } }, nowMs)
  expect(text.split("\n")).toContain(
    "Frozen          every Session process, for 1m 15s: without a lease nothing runs",
  )
  expect(renderStatus(status, nowMs)).not.toContain("Frozen")
})

test("a status tells what is on disk, and of trouble there only when there is some", () => {
  const store = {
    fileBytes: 5_242_880,
    logBytes: 104_858,
    ballast: "kept",
    admissions: { open: 1, settled: 12 },
    eventsSetAside: 0,
  } as const
  const calm = renderStatus({ ...status, store }, nowMs)
  expect(calm).toContain("Store           5.0 MiB, log 0.1 MiB\n")
  expect(calm).toContain("Admissions      1 open, 12 settled in the journal\n")
  expect(calm).not.toMatch(/Disk|Set aside/)
  const troubled = renderStatus(
    { ...status, store: { ...store, ballast: "given_up", eventsSetAside: 2 } },
    nowMs,
  )
  expect(troubled).toContain("Disk            full: nothing new is begun until there is room again\n")
  expect(troubled).toContain("Set aside       2 events that nobody can read\n")
})

test("a status is readable: what is wrong, for how long, and one line a Session", () => {
  const text = renderStatus(status, nowMs)
  const lines = text.split("\n")
  expect(lines).toContain("Supervisor      computerd 1.2.3, pid 4242, up 1h 30m")
  expect(lines).toContain("Link            backing off for 30s, 3 failed attempts (no connection)")
  expect(lines).toContain("Lease           held, epoch 5, 42s left")
  expect(lines).toContain("Unacknowledged  7 events")
  expect(lines).toContain("Degraded        the limits of Sessions are not in force: no control group")
  const row = lines.find((line) => line.startsWith(sessionId)) ?? ""
  for (const cell of [
    "auditor",
    "running, held",
    "77",
    `${turnId} 1m 5s`,
    "23456 (1 scope)",
    "killed by SIGKILL",
  ])
    expect(row).toContain(cell)
  const header = lines.find((line) => line.startsWith("SESSION")) ?? ""
  expect(header.indexOf("LAST EXIT")).toBe(row.indexOf("killed by"))
})

test("a status without Sessions or lease reads well too", () => {
  const text = renderStatus(
    { ...status, sessions: [], lease: { state: "none", epoch: null, remainingMs: null } },
    nowMs,
  )
  expect(text).toContain("Lease           none")
  expect(text).toEndWith("\nNo Sessions.\n")
})

test("every exit reason has words of its own", () => {
  const texts = [
    exitText({ kind: "code", code: 137 }),
    exitText({ kind: "signal", signal: "SIGKILL" }),
    exitText({ kind: "out_of_memory" }),
    exitText({ kind: "start_timeout", afterMs: 60_000 }),
    exitText({ kind: "stop_timeout", afterMs: 10_000 }),
    exitText({ kind: "spawn_failed", message: "no such file" }),
    exitText({ kind: "load_failed", message: "threw" }),
    exitText({ kind: "init_failed", message: "threw" }),
    exitText({ kind: "unknown", message: "nobody saw it" }),
    exitText({ kind: "not_reattached", message: "its port was taken" }),
    exitText({ kind: "shutdown" }),
  ]
  expect(new Set(texts).size).toBe(texts.length)
  expect(texts[0]).toBe("exit code 137")
  expect(texts[8]).toBe("nobody saw it")
})
