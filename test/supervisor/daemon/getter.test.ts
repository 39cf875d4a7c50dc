/** `ctx.mcp.getConnectionOptions` as a program sees it: real Session processes under a real supervisor. */
import { afterAll, beforeAll, expect, test } from "bun:test"
import { readdir, readFile } from "node:fs/promises"
import { join } from "node:path"
import type { McpConnection } from "@computerd/protocol/channel"
import type { SessionId } from "@computerd/protocol/ids"
import { Client } from "@modelcontextprotocol/sdk/client/index.js"
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js"
import { Computer, type Connected, newId } from "./computer.ts"

let computer: Computer
let supervisor: Bun.Subprocess
const issued = new Set<string>()

beforeAll(async () => {
  computer = await Computer.create()
  supervisor = await computer.startAttached()
})

afterAll(() => computer.close())

const operations = [
  "enqueue",
  "send_turn",
  "interrupt_turn",
  "interrupt_session",
  "resume_session",
  "close_session",
  "cancel_session",
  "inspect_session",
  "inspect_turn",
] as const

/** As many distinct proper subsets of the maximum as are wanted. */
const subsets = (count: number) =>
  Array.from({ length: count }, (_, index) => ({
    allow: operations
      .filter((_operation, bit) => ((index + 1) >> (bit % 5)) % 2 === 1)
      .map((operation) => ({ operation, agents: ["helper"] })),
  }))

const connectionOf = (connected: Connected | undefined): McpConnection => {
  if (connected?.ok !== true) throw new Error(`no connection: ${JSON.stringify(connected)}`)
  issued.add(connected.value.headers.Authorization)
  return connected.value
}

const codeOf = (connected: Connected | undefined): string =>
  connected === undefined || connected.ok ? "none" : connected.code

const connection = async (session: SessionId, policy?: unknown): Promise<McpConnection> =>
  connectionOf((await computer.connect(session, policy))[0])

interface Asked {
  readonly url: string
  readonly authorization: string
  readonly method?: string
  readonly params?: unknown
}

const ask = ({ url, authorization, method = "tools/list", params = {} }: Asked): Promise<Response> =>
  fetch(url, {
    method: "POST",
    keepalive: false,
    headers: {
      Authorization: authorization,
      "Content-Type": "application/json",
      Accept: "application/json, text/event-stream",
    },
    body: JSON.stringify({ jsonrpc: "2.0", id: 1, method, params }),
  })

const toolsOf = async ({ url, headers }: McpConnection): Promise<readonly string[]> => {
  const response = await ask({ url, authorization: headers.Authorization })
  expect(response.status).toBe(200)
  const { result } = (await response.json()) as { result: { tools: { name: string }[] } }
  return result.tools.map(({ name }) => name)
}

const portsOf = async (session: SessionId): Promise<number | null> => {
  const { sessions } = await computer.status()
  return sessions.find(({ id }) => id === session)?.mcpPort ?? null
}

/** Loopback ports that a process listens on, as the kernel says. */
const listening = async (pid: number): Promise<readonly number[]> => {
  const inodes = new Set<string>()
  for (const fd of await readdir(`/proc/${pid}/fd`)) {
    const target = await import("node:fs/promises").then(({ readlink }) =>
      readlink(`/proc/${pid}/fd/${fd}`).catch(() => ""),
    )
    const inode = /^socket:\[(\d+)\]$/.exec(target)?.[1]
    if (inode !== undefined) inodes.add(inode)
  }
  const rows = (await readFile(`/proc/${pid}/net/tcp`, "utf8")).trim().split("\n").slice(1)
  return rows.flatMap((row) => {
    const [, local, , state, , , , , , inode] = row.trim().split(/\s+/)
    const port = Number.parseInt(local?.split(":")[1] ?? "", 16)
    return state === "0A" && inodes.has(inode ?? "") ? [port] : []
  })
}

const supervisorPorts = async (): Promise<readonly number[]> => listening((await computer.status()).pid)

test("R1 a root and a child each reach the server of their own Session and read the skill", async () => {
  for (const role of ["root", "child"] as const) {
    const { url, headers } = await connection(computer.assign("probe", { role }))
    const params = { name: "skills", arguments: {} }
    const response = await ask({ url, authorization: headers.Authorization, method: "tools/call", params })
    expect(await response.text()).toContain("helmr-runtime")
  }
})

test("R4 R5 R6 R7 an Agent without init connects in its Turn and gets a loopback URL and a bearer header", async () => {
  const session = computer.assign()
  const { url, headers } = await connection(session)
  expect(url).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/mcp$/)
  expect(headers.Authorization).toMatch(/^Bearer \S+$/)
  expect(await toolsOf({ url, headers })).toContain("skills")
  for (const path of ["/", "/mcp/", "/mcp/x"])
    expect((await ask({ url: url.replace("/mcp", path), authorization: headers.Authorization })).status).toBe(
      404,
    )
  expect((await fetch(url, { method: "POST", body: "{}" })).status).toBe(401)
})

test("R3 R40 a connection that was made in init serves between Turns and after them", async () => {
  const session = computer.assign("connecting")
  const file = computer.proofFile()
  await computer.turn(session, [{ do: "init_result", file }])
  const { connection: made } = (await Bun.file(file).json()) as { connection: McpConnection }
  issued.add(made.headers.Authorization)
  expect(await toolsOf(made)).toContain("skills")
  await computer.turn(session, [])
  expect(await toolsOf(made)).toContain("skills")
})

test("R5 R8 the options have exactly their two keys and cannot be changed", async () => {
  const results = await computer.turn(computer.assign(), [{ do: "change_options" }])
  expect(results).toEqual([
    { outcomes: ["TypeError", "TypeError"], keys: [["url", "headers"], ["Authorization"]] },
  ])
})

test("R9 R80 no argument means the maximum, also after a narrow request", async () => {
  const session = computer.assign("probe", {
    maximum: { kind: "finite", allow: [{ operation: "inspect_turn", agents: ["helper"] }] },
  })
  const [narrow, maximum] = await computer.connect(session, { allow: [] }, undefined)
  expect(await toolsOf(connectionOf(narrow))).toEqual(["skills"])
  expect(await toolsOf(connectionOf(maximum))).toEqual(["skills", "inspect_turn", "wait_turn"])
})

test("R10 R169 a policy beyond the maximum is denied, atom by atom", async () => {
  const session = computer.assign("probe", {
    maximum: {
      kind: "finite",
      allow: [
        { operation: "spawn", agents: ["helper"], computer: "new" },
        { operation: "inspect_turn", agents: ["helper"] },
      ],
    },
  })
  const beyond = [
    { allow: [{ operation: "start", agents: ["helper"] }] },
    { allow: [{ operation: "spawn", agents: ["probe"] }] },
    { allow: [{ operation: "spawn", agents: ["helper"], computer: "caller" }] },
    { allow: [{ operation: "inspect_turn", agents: ["helper"] }, { operation: "list_computers" }] },
  ]
  const answers = await computer.connect(session, ...beyond, {
    allow: [{ operation: "spawn", agents: ["helper"] }],
  })
  expect(answers.map(codeOf)).toEqual([...Array(4).fill("runtime_mcp_denied"), "none"])
})

test("R11 an empty policy is legal and grants nothing but the skill", async () => {
  expect(await toolsOf(await connection(computer.assign(), { allow: [] }))).toEqual(["skills"])
})

test("R12 R168 no value asks for everything, and a malformed policy names its field", async () => {
  const malformed = [null, "*", {}, { allow: "*" }, { allow: [{ operation: "*" }] }, { blockAll: true }]
  const answers = await computer.connect(computer.assign(), ...malformed, {
    allow: [{ operation: "inspect_turn", agents: ["helper", "stranger"] }],
  })
  expect(answers.map(codeOf)).toEqual(Array(7).fill("invalid_runtime_mcp_policy"))
  const last = answers.at(-1)
  expect(last?.ok === false ? last.message : "").toContain("allow[0].agents[1]")
})

test("R13 equivalent policies give the same URL and header", async () => {
  const answers = await computer.connect(
    computer.assign(),
    { allow: [{ operation: "inspect_turn", agents: ["helper", "probe"] }, { operation: "list_computers" }] },
    {
      allow: [
        { operation: "list_computers" },
        { operation: "inspect_turn", agents: ["probe", "helper", "probe"] },
      ],
    },
    {
      allow: [
        { operation: "inspect_turn", agents: ["probe"] },
        { operation: "list_computers" },
        { operation: "inspect_turn", agents: ["helper"] },
        { operation: "list_computers" },
      ],
    },
  )
  const [first, ...others] = answers.map(connectionOf)
  for (const other of others) expect(other).toEqual(first!)
})

test("R15 R16 R17 R18 R19 sixteen scopes have sixteen headers, the next is refused, and all sixteen still serve", async () => {
  const session = computer.assign()
  const proper = subsets(16)
  const first = await computer.connect(session, ...proper)
  expect(first.map(codeOf)).toEqual([...Array(15).fill("none"), "runtime_mcp_scope_limit"])
  const [maximum, again, refused] = await computer.connect(session, undefined, proper[2], proper[15])
  expect(codeOf(refused)).toBe("runtime_mcp_scope_limit")
  expect(connectionOf(again)).toEqual(connectionOf(first[2]))
  const all = [...first.slice(0, 15).map(connectionOf), connectionOf(maximum)]
  expect(new Set(all.map(({ headers }) => headers.Authorization)).size).toBe(16)
  expect(new Set(all.map(({ url }) => url)).size).toBe(1)
  for (const one of all) expect(await toolsOf(one)).toContain("skills")
  const status = await computer.status()
  expect(status.sessions.find(({ id }) => id === session)?.scopes).toBe(16)
})

test("R20 R21 R22 nothing listens before the first successful call, and a failed one leaves nothing", async () => {
  const before = await supervisorPorts()
  const session = computer.assign()
  const silent = computer.assign()
  await computer.turn(silent, [{ do: "write", text: "no MCP" }])
  const answers = await computer.connect(
    session,
    { allow: "*" },
    { allow: [{ operation: "start", agents: ["no"] }] },
  )
  expect(answers.map(codeOf)).toEqual(Array(2).fill("invalid_runtime_mcp_policy"))
  expect(await supervisorPorts()).toEqual(before)
  expect([await portsOf(session), await portsOf(silent)]).toEqual([null, null])
  const { url } = await connection(session)
  const added = (await supervisorPorts()).filter((port) => !before.includes(port))
  expect(added).toEqual([Number(new URL(url).port)])
  expect(await portsOf(session)).toBe(added[0]!)
})

test("R20 concurrent first calls provision one listener", async () => {
  const before = await supervisorPorts()
  const session = computer.assign()
  const file = computer.proofFile()
  await computer.turn(session, [{ do: "connect_together", policies: subsets(15), file }])
  const connected = ((await Bun.file(file).json()) as Connected[]).map(connectionOf)
  expect(new Set(connected.map(({ url }) => url)).size).toBe(1)
  expect((await supervisorPorts()).length).toBe(before.length + 1)
})

test("R23 R14 a call after the shutdown began rejects, equal to an earlier one or not", async () => {
  const session = computer.assign()
  const file = computer.proofFile()
  await connection(session)
  computer.dispatch(session, [{ do: "connect_at_shutdown", file }])
  await computer.event("turn_started", (event) => event.sessionId === session)
  await computer.untilStatus(({ sessions }) =>
    sessions.some(({ id, turnId }) => id === session && turnId !== null),
  )
  computer.controlPlane.command({ type: "release", sessionId: session, graceMs: 3_000 })
  await computer.event("released", (event) => event.sessionId === session)
  const outcome = (await Bun.file(file).json()) as Connected
  expect(codeOf(outcome)).toBe("session_shutdown")
})

test("R29 the end of a process ends its headers and its listener", async () => {
  const session = computer.assign()
  const other = computer.assign()
  const mine = await connection(session)
  const theirs = await connection(other)
  const across = await ask({ url: theirs.url, authorization: mine.headers.Authorization })
  expect(across.status).toBe(401)
  const status = await computer.status()
  process.kill(status.sessions.find(({ id }) => id === session)!.pid!, "SIGKILL")
  await computer.event("process_exited", (event) => event.sessionId === session)
  await computer.untilStatus(({ sessions }) => sessions.find(({ id }) => id === session)?.mcpPort === null)
  expect(await supervisorPorts()).not.toContain(Number(new URL(mine.url).port))
  const refused = await ask({ url: mine.url, authorization: mine.headers.Authorization }).catch(
    () => "refused",
  )
  expect(refused).toBe("refused")
  expect(await toolsOf(theirs)).toContain("skills")
})

test("a hold refuses requests and lets the getter work; its end restores the same header", async () => {
  const session = computer.assign("probe")
  const made = await connection(session)
  const assignment = computer.assignment("probe", { sessionId: session })
  const hold = {
    id: newId("hld"),
    sessionId: session,
    kind: "interrupt",
    createdAt: new Date().toISOString(),
  } as const
  const turn = computer.dispatch(session, [{ do: "wait_for_cancel" }])
  await computer.event("turn_started", (event) => event.turnId === turn)
  computer.controlPlane.command({ type: "assign", assignment: { ...assignment, holds: [hold] } })
  await computer.untilStatus(({ sessions }) => sessions.some(({ id, held }) => id === session && held))
  const refused = await ask({ url: made.url, authorization: made.headers.Authorization })
  expect([refused.status, refused.headers.get("retry-after")]).toEqual([503, "1"])
  computer.controlPlane.command({ type: "assign", assignment })
  await computer.untilStatus(({ sessions }) => sessions.some(({ id, held }) => id === session && !held))
  expect(await toolsOf(made)).toContain("skills")
})

test("R41 R42 R50 clients that close, DELETE or break off end nothing, and the skill leaves no file behind", async () => {
  const session = computer.assign()
  const { url, headers } = await connection(session)
  const processOf = async () => (await computer.status()).sessions.find(({ id }) => id === session)
  const workspace = () => readdir(join(computer.directory, "workspace"), { recursive: true })
  const [before, files] = [await processOf(), await workspace()]
  const turn = computer.dispatch(session, [{ do: "wait_for_cancel" }])
  await computer.event("turn_started", (event) => event.turnId === turn)

  const client = new Client({ name: "test", version: "1" })
  await client.connect(new StreamableHTTPClientTransport(new URL(url), { requestInit: { headers } }))
  await client.callTool({ name: "skills", arguments: { name: "helmr-runtime" } })
  await client.close()
  expect((await fetch(url, { method: "DELETE", headers })).status).toBe(405)
  const leaving = new AbortController()
  const args = { sessionId: session, turnId: turn, timeoutMs: 30_000 }
  const params = { name: "wait_turn", arguments: args }
  const held = computer.controlPlane.count("admit").length
  computer.controlPlane.hooks.admit = () => "handled"
  const broken = fetch(url, {
    method: "POST",
    headers: { ...headers, "Content-Type": "application/json" },
    body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/call", params }),
    signal: leaving.signal,
  }).catch(() => "broken off")
  await computer.controlPlane.until(() => computer.controlPlane.count("admit").length > held, "the wait")
  leaving.abort()
  expect(await broken).toBe("broken off")
  await computer.controlPlane.until(
    () => computer.controlPlane.count("abandon").length > 0,
    "an abandon frame",
  )
  computer.controlPlane.hooks.admit = undefined

  expect(await processOf()).toMatchObject({ pid: before?.pid, generation: before?.generation, turnId: turn })
  expect(await workspace()).toEqual(files)
  computer.controlPlane.command({
    type: "cancel_turn",
    sessionId: session,
    turnId: turn,
    status: "cancelled",
    graceMs: 3_000,
  })
  await computer.event("turn_settled", (event) => event.turnId === turn)
  expect(await computer.turn(session, [])).toEqual([])
  expect(await toolsOf({ url, headers })).toContain("skills")
})

test("R28 no header that was issued appears in the store, the logs, the status or what the control plane was told", async () => {
  expect(issued.size).toBeGreaterThan(40)
  const places = new Map<string, string>()
  const note = async (when: string): Promise<void> => {
    for (const entry of await readdir(state, { recursive: true, withFileTypes: true }))
      if (entry.isFile())
        places.set(`${entry.name} ${when}`, await readFile(join(entry.parentPath, entry.name), "latin1"))
  }
  const state = join(computer.directory, "state")
  places.set("status", JSON.stringify(await computer.status()))
  await note("while it runs")
  supervisor.kill("SIGTERM")
  expect(await supervisor.exited).toBe(0)
  await note("after its end")
  places.set("log", await computer.log())
  places.set("frames", JSON.stringify(computer.controlPlane.frames))
  for (const header of issued) {
    const token = header.slice("Bearer ".length)
    const found = [...places].filter(([, text]) => text.includes(token)).map(([name]) => name)
    expect(found).toEqual([])
  }
})
