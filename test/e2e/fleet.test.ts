/** `computerd fleet` against a real control plane with real Computers, one process for each command. */
import { afterAll, beforeAll, expect, test } from "bun:test"
import { lstat } from "node:fs/promises"
import { join } from "node:path"
import { HelmrClient } from "@helmr/sdk"
import { type Fixture, fixture } from "../examples/fixture.ts"
import { boundMs, computerd, eventually, type Run, type Sandbox, sandbox } from "./sandbox.ts"

let place: Sandbox
let folder: Fixture
let plane: Run
let url: string
let state: string
let keyFile: string
let client: HelmrClient

const program = `import { agent, image, template } from "@helmr/sdk"
import { Client } from "@modelcontextprotocol/sdk/client/index.js"
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js"

const box = template({ id: "box", image: image("box"), resources: { cpu: 1, memory: "256MiB" } })
const text = (turn) => turn.input.map((part) => part.text).join("")

export const hand = agent({
  id: "hand",
  template: box,
  runtimeMcp: { allow: [] },
  async turn(turn) {
    await turn.output.write("hand has " + text(turn) + "\\n")
    return text(turn).length
  },
})

export const lead = agent({
  id: "lead",
  template: box,
  async init(ctx) {
    const { url, headers } = await ctx.mcp.getConnectionOptions()
    const mcp = new Client({ name: "lead", version: "1.0.0" })
    await mcp.connect(new StreamableHTTPClientTransport(new URL(url), { requestInit: { headers } }))
    return mcp
  },
  async turn(turn, { initResult: mcp }) {
    const call = async (name, args) => JSON.parse((await mcp.callTool({ name, arguments: args })).content[0].text)
    const input = [{ type: "text", text: text(turn) }]
    const child = await call("spawn", { agent: "hand", input, idempotencyKey: turn.id })
    const waited = await call("wait_turn", { sessionId: child.sessionId, turnId: child.turnId, timeoutMs: 30000 })
    await turn.respond("the hand counted " + waited.outcome.result)
    return waited.outcome.result
  },
})

export const broken = agent({
  id: "broken",
  template: box,
  runtimeMcp: { allow: [] },
  init: () => { throw new Error("no start") },
  turn: () => 1,
})

export const clerk = agent({
  id: "clerk",
  template: box,
  runtimeMcp: { allow: [] },
  async turn(turn) {
    if (text(turn) === "fail") throw new Error("as asked")
    if (text(turn) === "ask") return (await turn.ask("which one?")).map((part) => part.text).join("")
    const message = await new Promise((resolve, reject) => {
      turn.onMessage(({ content }) => resolve(content))
      turn.onCancel(() => reject(new Error("stopped")))
      void turn.output.write("listening\\n")
    })
    await turn.respond(message)
  },
})
`

const fleet = (...words: readonly string[]): Run =>
  place.run(computerd, "fleet", ...words, "--url", url, "--key-file", keyFile)

const said = async (...words: readonly string[]) => {
  const { exitCode, out, err } = await fleet(...words).done
  return { exitCode, out, err }
}

const ok = async (...words: readonly string[]): Promise<string> => {
  const { exitCode, out, err } = await said(...words)
  if (exitCode !== 0) throw new Error(`fleet ${words.join(" ")}: ${exitCode}\n${out}${err}`)
  return out.trim()
}

const json = async (...words: readonly string[]) => JSON.parse(await ok(...words, "--json"))

const start = async (agent: string, input: string) => {
  const [sessionId = "", turnId = ""] = (await ok("start", agent, "--input", input)).split(" ")
  return { sessionId, turnId }
}

/** Looks with a client of its own: a process for each look would take longer than what it looks for. */
const running = ({ sessionId, turnId }: { readonly sessionId: string; readonly turnId: string }) =>
  eventually("a running Turn", async () => {
    const { status } = await client.sessions.handle(sessionId).turn(turnId).get()
    return status === "running" ? true : undefined
  })

beforeAll(async () => {
  place = await sandbox()
  folder = await fixture()
  await folder.write({
    "program/index.ts": program,
    "broken/index.ts": program.replace('id: "box"', "id: 7"),
  })
  state = join(place.temporary, "state")
  keyFile = join(place.temporary, "key")
  plane = place.run(computerd, "control-plane", "--state", state, "--api", "127.0.0.1:0")
  const line = await plane.line(/"api_listening"/)
  url = JSON.parse(line).url
  const { exitCode } = await place.run(
    ...[computerd, "fleet", "keys", "create", "--state", state],
    ...["--name", "test", "--permission", "all", "--out", keyFile],
  ).done
  expect(exitCode).toBe(0)
  client = new HelmrClient({ baseUrl: url, apiKey: (await Bun.file(keyFile).text()).trim() })
  await ok("deploy", join(folder.path, "program"))
}, boundMs)

afterAll(async () => {
  plane.signal("SIGTERM")
  await plane.done
  const left = await place.processes()
  await place.remove()
  await folder.remove()
  expect(left).toEqual([])
}, boundMs)

test("start --follow shows the whole tree and prints the response", async () => {
  const { exitCode, out, err } = await said("start", "lead", "--input", "sixty", "--follow")
  expect({ exitCode, out }).toEqual({ exitCode: 0, out: "the hand counted 5\n" })
  expect(err).toMatch(/Session ses_\S+: lead on Computer cmp_/)
  expect(err).toMatch(/Session ses_\S+: hand on Computer cmp_\S+, child of ses_/)
  expect(err).toContain("hand | hand has sixty")
  const failed = await said("start", "clerk", "--input", "fail", "--follow")
  expect(failed).toMatchObject({ exitCode: 1, out: "" })
  expect(failed.err).toContain("computerd: the Turn ended failed: handler_failed: as asked")
})

test(
  "a Session is started, told, waited for and closed; --json is one value each",
  async () => {
    const { sessionId, turnId } = await start("clerk", "listen")
    expect(await said("wait", sessionId, turnId, "--timeout", "1ms")).toMatchObject({
      exitCode: 124,
      out: "",
    })
    const following = fleet("follow", sessionId, "--json")
    await running({ sessionId, turnId })
    expect(await json("send", sessionId, turnId, "--message", "hello")).toMatchObject({ turnId })
    expect(await ok("wait", sessionId, turnId)).toBe("hello")
    const { session, turns } = await json("session", sessionId)
    expect(session).toMatchObject({ id: sessionId, agent: "clerk", status: "open" })
    expect(session).not.toHaveProperty("turns")
    expect(turns).toMatchObject([{ id: turnId, status: "completed" }])
    const once = ["enqueue", sessionId, "--input", "fail", "--idempotency-key", "once"]
    const waited = await said(...once, "--wait", "--json")
    const outcome = JSON.parse(waited.out)
    expect({ exitCode: waited.exitCode, outcome }).toMatchObject({
      exitCode: 1,
      outcome: { sessionId, status: "failed", error: { code: "handler_failed" } },
    })
    const again = await said(...once, "--follow")
    expect(again).toMatchObject({ exitCode: 1, out: "" })
    expect(again.err).toContain(`Turn ${outcome.turnId}: failed (handler_failed)`)
    expect(again.err).not.toContain(turnId)
    await ok("close", sessionId)
    const { exitCode, out } = await following.done
    const types = out
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line).type)
    expect({ exitCode, first: types[0], last: types.at(-1) }).toEqual({
      exitCode: 0,
      first: "session_created",
      last: "session_closed",
    })
    expect(types.filter((type) => type === "turn_queued")).toHaveLength(2)
  },
  boundMs,
)

test(
  "an interrupt holds a Session until that hold is released; a Turn alone can be ended; cancel ends all",
  async () => {
    const { sessionId, turnId } = await start("clerk", "listen")
    await running({ sessionId, turnId })
    const holdId = await ok("interrupt", sessionId)
    expect(holdId).toMatch(/^hld_/)
    expect(await ok("session", sessionId)).toMatch(
      new RegExp(`${holdId}\\s+interrupt\\s+${sessionId}\\s+yes`),
    )
    expect(await said("wait", sessionId, turnId)).toMatchObject({ exitCode: 1 })
    const next = await json("enqueue", sessionId, "--input", "listen")
    expect(await ok("resume", sessionId, holdId)).toBe("accepted")
    await running(next)
    expect(await ok("interrupt", sessionId, "--turn", next.turnId)).toBe("accepted")
    expect((await said("wait", sessionId, next.turnId)).err).toContain("the Turn ended interrupted")
    const last = await json("enqueue", sessionId, "--input", "listen")
    await running(last)
    expect(await ok("cancel", sessionId)).toMatch(/^clos/)
    expect((await said("wait", sessionId, last.turnId)).err).toContain("the Turn ended cancelled")
  },
  boundMs,
)

test(
  "a question is shown and answered",
  async () => {
    const { sessionId, turnId } = await start("clerk", "ask")
    const questionId = await eventually("a question", async () => {
      const { questions } = await json("questions", sessionId)
      return questions[0]?.id
    })
    expect(await ok("questions", sessionId)).toContain("which one?")
    expect(await ok("answer", sessionId, questionId, "--text", "that one")).toBe("answered")
    expect(await ok("wait", sessionId, turnId)).toBe('"that one"')
    await ok("close", sessionId)
  },
  boundMs,
)

test(
  "Computers are made, listed and deleted; definitions are shown at their pin",
  async () => {
    const computerId = await ok("computers", "create", "box", "--key", "mine")
    expect(await ok("computers")).toMatch(new RegExp(`${computerId}\\s+box\\s+\\S+\\s+mine`))
    const started = await json("start", "clerk", "--input", "fail", "--computer", computerId)
    expect(await said("computers", "delete", computerId)).toMatchObject({
      exitCode: 1,
      err: expect.stringContaining("computerd: computer_in_use: "),
    })
    await said("wait", started.sessionId, started.turnId)
    await ok("close", started.sessionId)
    expect(await ok("computers", "delete", computerId)).toMatch(/^delet/)
    const { deployments } = await json("deployments")
    expect(deployments).toMatchObject([{ current: true, agents: ["broken", "clerk", "hand", "lead"] }])
    expect(await ok("agents", "--deployment", deployments[0].id)).toMatch(/lead\s+box\s+never\s+12/)
    expect(await ok("templates")).toMatch(/box\s+1\s+268435456\s+ordinary/)
    const { sessions } = await json("sessions", "--agent", "hand", "--limit", "1")
    expect(sessions).toMatchObject([{ agent: "hand", template: "box" }])
    expect(sessions[0]).not.toHaveProperty("events")
  },
  boundMs,
)

test(
  "Ctrl-C ends the following and not the work, and says how to see it again",
  async () => {
    const run = fleet("start", "clerk", "--input", "listen", "--follow")
    await run.line(/clerk \| listening/)
    run.signal("SIGINT")
    const { exitCode, out, err } = await run.done
    expect({ exitCode, out }).toEqual({ exitCode: 130, out: "" })
    const [, sessionId = "", cursor = ""] =
      /the work goes on; computerd fleet follow (ses_\S+) --after (\S+) shows what comes/.exec(err) ?? []
    const { session, turns } = await json("session", sessionId)
    expect(session).toMatchObject({ status: "open", holds: [] })
    expect(turns).toMatchObject([{ status: "running" }])
    const following = fleet("follow", sessionId, "--after", cursor)
    await ok("cancel", sessionId)
    const rest = await following.done
    expect(rest).toMatchObject({ exitCode: 0, out: "" })
    expect(rest.err).toEndWith(`computerd: Session ${sessionId} is closed\n`)
    expect(rest.err).not.toContain("listening")
  },
  boundMs,
)

test(
  "what is wrong is one clear line: a program, an id, a key, an address",
  async () => {
    const broken = await said("deploy", join(folder.path, "broken"))
    expect(broken).toMatchObject({ exitCode: 1, out: "" })
    expect(broken.err).toMatch(/^computerd: invalid_program: .*templates\[.*id/)
    expect((await json("deployments")).deployments).toHaveLength(1)
    expect(await said("deploy", join(folder.path, "nowhere"))).toMatchObject({
      err: expect.stringContaining("does not exist"),
    })
    expect(await said("session", "ses_1")).toMatchObject({
      exitCode: 2,
      err: expect.stringMatching(/^computerd: invalid_arguments: sessionId /),
    })
    const random = "ses_01900000-0000-7000-8000-000000000000"
    expect(await said("close", random)).toEqual({
      exitCode: 1,
      out: "",
      err: "computerd: not_found: there is no such Session\n",
    })
    const nobody = place.run(
      computerd,
      "fleet",
      "sessions",
      "--url",
      "http://127.0.0.1:1",
      "--key-file",
      keyFile,
    )
    expect((await nobody.done).err).toMatch(/^computerd: admission_unavailable: .*ECONNREFUSED/)
  },
  boundMs,
)

test(
  "keys are made with what they may do, and a revoked one ends what it follows",
  async () => {
    const keys = (...words: readonly string[]) =>
      place.run(computerd, "fleet", "keys", ...words, "--state", state).done
    const made = await keys("create", "--name", "reader", "--permission", "sessions:read")
    expect(made.out).toMatch(/^hlm_[0-9a-f]{32}_[0-9a-f]{64}\n$/)
    const [, keyId = ""] = /key (key_\S+); its text is not shown again/.exec(made.err) ?? []
    const readerFile = join(place.temporary, "reader")
    const again = await keys("create", "--name", "r", "--permission", "sessions:read", "--out", readerFile)
    expect(again.exitCode).toBe(0)
    const readerId = again.out.trim()
    expect((await lstat(readerFile)).mode & 0o777).toBe(0o600)
    expect((await keys("create", "--name", "r", "--permission", "all", "--out", readerFile)).err).toContain(
      "EEXIST",
    )

    const { sessionId } = await start("clerk", "listen")
    const reader = (...words: readonly string[]) =>
      place.run(computerd, "fleet", ...words, "--url", url, "--key-file", readerFile)
    expect((await reader("close", sessionId).done).err).toBe(
      "computerd: permission_denied: this API key lacks the permission sessions:write\n",
    )
    const following = reader("follow", sessionId)
    await following.line(/clerk \| listening/)
    expect((await keys("revoke", readerId)).out).toBe("revoked\n")
    const { exitCode, err } = await following.done
    expect(exitCode).toBe(1)
    expect(err).toContain("computerd: unauthorized: the API key is wrong or was revoked")
    await ok("cancel", sessionId)

    const listed = await keys("list")
    expect(listed.out).toMatch(new RegExp(`${keyId}\\s+reader\\s+default\\s+sessions:read\\s`))
    const secrets = [made.out.trim(), (await Bun.file(keyFile).text()).trim()]
    const everything = [listed.out, listed.err, err, plane.lines().join("\n")].join("\n")
    for (const secret of secrets) expect(everything).not.toContain(secret)
  },
  boundMs,
)

test(
  "following ends when nobody reads it any more, and says that a held Session waits for a person",
  async () => {
    const { sessionId } = await start("clerk", "listen")
    const words = [computerd, "fleet", "follow", sessionId, "--json", "--url", url, "--key-file", keyFile]
    const script = '"$0" "$@" | head -1; exit $PIPESTATUS'
    const piped = Bun.spawn(["bash", "-c", script, process.execPath, ...words], { stdout: "pipe" })
    expect(JSON.parse(await piped.stdout.text()).type).toBe("session_created")
    await ok("cancel", sessionId)
    expect(await piped.exited).toBe(141)
    const held = fleet("start", "broken", "--input", "x", "--follow")
    const line = await held.line(/waits for a person: computerd fleet resume ses_\S+ hld_/)
    held.signal("SIGINT")
    expect((await held.done).exitCode).toBe(130)
    await ok("cancel", /resume (ses_\S+)/.exec(line)?.[1] ?? "")
  },
  boundMs,
)

test(
  "following goes on over a control plane that was killed and started again",
  async () => {
    const { sessionId, turnId } = await start("clerk", "listen")
    const following = fleet("follow", sessionId)
    await following.line(/clerk \| listening/)
    plane.signal("SIGKILL")
    await plane.done
    plane = place.run(computerd, "control-plane", "--state", state, "--api", new URL(url).host)
    await plane.line(/"api_listening"/)
    await ok("send", sessionId, turnId, "--message", "still there")
    expect(await ok("wait", sessionId, turnId)).toBe("still there")
    await ok("close", sessionId)
    const { exitCode, err } = await following.done
    expect(exitCode).toBe(0)
    for (const once of ["| listening", ": completed", ": closed"]) expect(err.split(once)).toHaveLength(2)
  },
  boundMs,
)
