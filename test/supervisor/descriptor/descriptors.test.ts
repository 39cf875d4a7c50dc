/** Descriptors over a real store and real listeners; Sessions and the lease are what each test says. */
import { afterEach, expect, test } from "bun:test"
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import type { McpConnection } from "@computerd/protocol/channel"
import { Epoch, Generation, type SessionId } from "@computerd/protocol/ids"
import type { AdmissionAnswer } from "@computerd/protocol/link"
import { defaultMaximum } from "@computerd/runtime-mcp/policy/scope"
import { Descriptors } from "@computerd/supervisor/descriptor/descriptors"
import { candidatePorts } from "@computerd/supervisor/descriptor/port"
import { createJournal, type JournalEntry } from "@computerd/supervisor/journal"
import { createLease } from "@computerd/supervisor/link/lease"
import { type Ports, systemPorts } from "@computerd/supervisor/ports"
import type { ProcessIdentity, SessionView } from "@computerd/supervisor/session/sessions"
import { createSessionTime } from "@computerd/supervisor/session/time"
import { openStore } from "@computerd/supervisor/store/open"
import { newAssignment } from "../harness.ts"

const ports = systemPorts({})
const grant = { epoch: Epoch.parse(1), leaseMs: 60_000, renewMs: 15_000 }
/** Below the kernel's ephemeral range; supervisors of other tests take their ports from the same one. */
const range = { first: 20_000, last: 31_999 }
const maximum = { given: false } as const
const nothing = { given: true, value: { allow: [] } } as const

const closers: (() => Promise<void>)[] = []
const directories = new Set<string>()
afterEach(async () => {
  for (const close of closers.splice(0)) await close()
  for (const directory of directories) rmSync(directory, { recursive: true, force: true })
  directories.clear()
})

interface Options {
  readonly directory?: string
  readonly views?: Map<SessionId, SessionView>
  readonly ports?: Ports
  readonly invoke?: () => Promise<AdmissionAnswer>
}

const newDesk = (options: Options = {}) => {
  const directory = options.directory ?? mkdtempSync(join(tmpdir(), "computerd-descriptors-"))
  directories.add(directory)
  const ours = options.ports ?? ports
  const entries: JournalEntry[] = []
  const journal = createJournal(ports.clock, [(entry) => entries.push(entry)])
  const opened = openStore({ directory, ports, journal })
  if (!opened.ok) throw new Error(opened.error.message)
  const store = opened.value
  const views = options.views ?? new Map<SessionId, SessionView>()
  const lease = createLease({ ...ours, changed: () => undefined })
  const unrestorable: string[] = []
  const descriptors = new Descriptors({
    ports: ours,
    time: createSessionTime(ours),
    journal,
    store,
    range,
    lease,
    find: (sessionId) => views.get(sessionId),
    living: () =>
      [...views.values()].flatMap((view) =>
        view.state === "exited"
          ? []
          : [
              {
                sessionId: view.sessionId,
                generation: Generation.parse(view.generation),
                state: "ready" as const,
              },
            ],
      ),
    unrestorable: ({ generation }, message) => unrestorable.push(`${generation} ${message}`),
    invoke: options.invoke ?? (() => Promise.resolve({ ok: true, value: {} })),
  })
  let closed = false
  const close = async (): Promise<void> => {
    if (closed) return
    closed = true
    await descriptors.close()
    lease.end()
    store.close()
  }
  closers.push(close)

  const add = (generation = 1, sessionId = ports.newId("ses")): ProcessIdentity => {
    views.set(sessionId, {
      sessionId,
      assignment: newAssignment("probe", { sessionId, maximum: defaultMaximum(["probe"]) }),
      state: "ready",
      generation,
      pid: 1,
      turn: undefined,
      held: false,
      shuttingDown: false,
      lastExit: undefined,
    })
    return { sessionId, generation: Generation.parse(generation) }
  }
  const rows = (table: "descriptors" | "scopes"): number =>
    store.database.query<{ count: number }, []>(`SELECT count(*) AS count FROM ${table}`).get()?.count ?? -1
  return { directory, store, views, lease, descriptors, entries, add, rows, close }
}

const held = (options?: Options) => {
  const desk = newDesk(options)
  desk.lease.grant(grant, ports.clock.monotonicMs())
  return desk
}

const connectionOf = async (made: ReturnType<Descriptors["connect"]>) => {
  const result = await made
  if (!result.ok) throw new Error(result.error.message)
  return result.value
}

const codeOf = async (made: ReturnType<Descriptors["connect"]>) => {
  const result = await made
  return result.ok ? "ok" : result.error.code
}

const send = ({ url, headers }: McpConnection, method = "ping", params = {}): Promise<Response> =>
  fetch(url, {
    method: "POST",
    keepalive: false,
    headers: {
      ...headers,
      "Content-Type": "application/json",
      Accept: "application/json, text/event-stream",
    },
    body: JSON.stringify({ jsonrpc: "2.0", id: 1, method, params }),
  })

const statusOf = async (connection: McpConnection): Promise<number | "refused"> => {
  try {
    return (await send(connection)).status
  } catch {
    return "refused"
  }
}

test("R13 a restarted supervisor serves the same headers on the same port to a process that lived on", async () => {
  const first = held()
  const living = first.add()
  const dead = first.add()
  const made = [
    await connectionOf(first.descriptors.connect(living, maximum)),
    await connectionOf(first.descriptors.connect(living, nothing)),
  ]
  const gone = await connectionOf(first.descriptors.connect(dead, maximum))
  expect(first.rows("descriptors")).toBe(2)
  await first.close()
  expect(await statusOf(made[0]!)).toBe("refused")

  first.views.delete(dead.sessionId)
  const second = held({ directory: first.directory, views: first.views })
  second.descriptors.restore()
  for (const connection of made) expect(await statusOf(connection)).toBe(200)
  expect(await statusOf(gone)).toBe("refused")
  expect(await connectionOf(second.descriptors.connect(living, nothing))).toEqual(made[1]!)
  expect(second.descriptors.view(living.sessionId)?.scopes).toBe(2)
  expect([second.rows("descriptors"), second.rows("scopes")]).toEqual([1, 2])
})

test("a port that was taken meanwhile is told, and its descriptors are forgotten", async () => {
  const first = held()
  const process = first.add()
  const { url } = await connectionOf(first.descriptors.connect(process, maximum))
  await first.close()
  const port = Number(new URL(url).port)
  const taker = Bun.listen({ hostname: "127.0.0.1", port, socket: { data: () => undefined } })
  try {
    const second = held({ directory: first.directory, views: first.views })
    second.descriptors.restore()
    expect(second.entries.find(({ event }) => event === "mcp_not_restored")).toMatchObject({ port })
    expect(second.rows("descriptors")).toBe(0)
  } finally {
    taker.stop(true)
  }
})

test("R21 a first call whose descriptor cannot be stored leaves nothing listening", async () => {
  const desk = held()
  const process = desk.add()
  desk.store.database.run("DROP TABLE scopes")
  expect(await codeOf(desk.descriptors.connect(process, maximum))).toBe("admission_unavailable")
  expect(desk.descriptors.view(process.sessionId)).toBeUndefined()
  expect(desk.rows("descriptors")).toBe(0)
  // The first port that it tried, which it had unless a stranger did.
  const [port = 0] = candidatePorts(range, process.sessionId)
  const dial = () =>
    fetch(`http://127.0.0.1:${port}/mcp`, { keepalive: false }).then(
      () => "served",
      () => "refused",
    )
  for (let tries = 0; tries < 200 && (await dial()) === "served"; tries += 1) await Bun.sleep(10)
  expect(await dial()).toBe("refused")
})

test("R14 a call that finds no lease waits for one, and not for ever", async () => {
  const desk = newDesk({ ports: { ...ports, timers: quick } })
  const process = desk.add()
  expect(await codeOf(desk.descriptors.connect(process, maximum))).toBe("admission_unavailable")
  expect(desk.descriptors.view(process.sessionId)).toBeUndefined()
  const waiting = desk.descriptors.connect(process, maximum)
  desk.lease.grant(grant, ports.clock.monotonicMs())
  expect(await codeOf(waiting)).toBe("ok")
  desk.lease.end()
  expect(await codeOf(desk.descriptors.connect(process, maximum))).toBe("admission_unavailable")
})

test("R10 R12 what no lease would mend is refused without waiting for one", async () => {
  const desk = newDesk()
  const ask = (value: unknown) => codeOf(desk.descriptors.connect(desk.add(), { given: true, value }))
  const startedAt = performance.now()
  expect(await ask({ allow: "*" })).toBe("invalid_runtime_mcp_policy")
  const beyond = { operation: "spawn", agents: ["probe"], computer: "caller" }
  expect(await ask({ allow: [beyond] })).toBe("runtime_mcp_denied")
  expect(performance.now() - startedAt).toBeLessThan(1_000)
})

test("R23 a process that ends while its call waits for the lease gets no descriptor", async () => {
  const desk = newDesk()
  const process = desk.add()
  const waiting = desk.descriptors.connect(process, maximum)
  desk.views.set(process.sessionId, { ...desk.views.get(process.sessionId)!, shuttingDown: true })
  desk.lease.grant(grant, ports.clock.monotonicMs())
  expect(await codeOf(waiting)).toBe("session_shutdown")
  expect(desk.descriptors.view(process.sessionId)).toBeUndefined()
})

test("R29 the next generation has another key, and the last one's headers are unknown to it", async () => {
  const desk = held()
  const first = desk.add(1)
  const old = await connectionOf(desk.descriptors.connect(first, maximum))
  await desk.descriptors.disconnect(first, "exited")
  const second = desk.add(2, first.sessionId)
  const made = await connectionOf(desk.descriptors.connect(second, maximum))
  expect(made.headers).not.toEqual(old.headers)
  // The Session comes back to its port, so a client that kept the dead header is told.
  expect(made.url).toBe(old.url)
  expect(await statusOf(old)).toBe(401)
  expect(await statusOf(made)).toBe(200)
  expect(await codeOf(desk.descriptors.connect(first, maximum))).toBe("session_shutdown")
})

test("a late end of an old process does not touch the one that followed", async () => {
  const desk = held()
  const first = desk.add(1)
  await connectionOf(desk.descriptors.connect(first, maximum))
  await desk.descriptors.disconnect(first, "shutting_down")
  const second = desk.add(2, first.sessionId)
  const made = await connectionOf(desk.descriptors.connect(second, maximum))
  await desk.descriptors.disconnect(first, "exited")
  expect(await statusOf(made)).toBe(200)
  expect([desk.rows("descriptors"), desk.rows("scopes")]).toEqual([1, 1])
})

test("open requests of a process that ends are answered, and its end is prompt and repeatable", async () => {
  const started = Promise.withResolvers<void>()
  const desk = held({
    invoke: () => {
      started.resolve()
      return new Promise(() => undefined)
    },
  })
  const process = desk.add()
  const made = await connectionOf(desk.descriptors.connect(process, maximum))
  const args = { sessionId: ports.newId("ses"), turnId: ports.newId("trn"), timeoutMs: 30_000 }
  const open = send(made, "tools/call", { name: "wait_turn", arguments: args })
  await started.promise
  const startedAt = performance.now()
  await Promise.all([
    desk.descriptors.disconnect(process, "shutting_down"),
    desk.descriptors.disconnect(process, "exited"),
  ])
  expect(performance.now() - startedAt).toBeLessThan(2_500)
  const answer = await open
  expect(answer.status).toBe(200)
  expect(await answer.text()).toContain("admission_unavailable")
  expect(await statusOf(made)).toBe("refused")
  expect(desk.rows("descriptors")).toBe(0)
})

test("R15 processes of one Computer have keys of their own: an equal policy gives each another header", async () => {
  const desk = held()
  const made = await Promise.all(
    Array.from({ length: 10 }, () => connectionOf(desk.descriptors.connect(desk.add(), maximum))),
  )
  expect(new Set(made.map(({ headers }) => headers.Authorization)).size).toBe(10)
  expect(new Set(made.map(({ url }) => url)).size).toBe(10)
  for (const [index, mine] of made.entries()) {
    const foreign = { ...mine, headers: made[(index + 1) % 10]!.headers }
    expect([await statusOf(mine), await statusOf(foreign)]).toEqual([200, 401])
  }
})

/** A getter waits 30 s for a lease; here that is 50 ms. */
const quick: Ports["timers"] = {
  ...ports.timers,
  after: (delayMs, fire) => ports.timers.after(delayMs === 30_000 ? 50 : delayMs, fire),
}
