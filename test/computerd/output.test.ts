import { afterEach, beforeEach, expect, test } from "bun:test"
import { appendFile, mkdir, mkdtemp, rm, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { consoleFolder, consoleFolders, showConsole } from "@computerd/computerd/dev/output/console"
import { showTurns } from "@computerd/computerd/dev/output/turns"
import type { FleetEvent, SessionView } from "@computerd/computerd/dev/view/fleet"
import { createPieces } from "@computerd/computerd/view/pieces"
import {
  ComputerId,
  DefinitionKey,
  DeploymentId,
  EnvironmentKey,
  SessionId,
  TurnId,
} from "@computerd/protocol/ids"

const uuid = "00000000-0000-7000-8000-000000000001"
const ids = {
  sessionId: SessionId.parse(`ses_${uuid}`),
  turnId: TurnId.parse(`trn_${uuid}`),
  computerId: ComputerId.parse(`cmp_${uuid}`),
}

const session: SessionView = {
  environment: EnvironmentKey.parse("default"),
  deploymentId: DeploymentId.parse(`dep_${uuid}`),
  id: ids.sessionId,
  agent: DefinitionKey.parse("worker"),
  computerId: ids.computerId,
  role: "root",
  key: null,
  parent: null,
  requester: null,
  status: "open",
  process: "ready",
  generation: 1,
  idleSinceMs: null,
  holds: [],
  turns: [],
  createdAtMs: 0,
  closedAtMs: null,
}

/** A view that remembers what it was given. */
const seen = () => {
  const lines: string[] = []
  return { lines, view: { output: (source: string, line: string) => void lines.push(`${source}: ${line}`) } }
}

let state: string
beforeEach(async () => {
  state = await mkdtemp(join(tmpdir(), "output-"))
})
afterEach(() => rm(state, { recursive: true, force: true }))

test("pieces become lines, what has no end is shown last, and no line is kept beyond its bound", () => {
  const pieces = createPieces()
  expect(pieces.add("a")).toEqual([])
  expect(pieces.add("b\n\nc\nd")).toEqual(["ab", "", "c"])
  expect(pieces.rest()).toEqual(["d"])
  expect(pieces.rest()).toEqual([])
  const endless = pieces.add("x".repeat(4_500))
  expect(endless.map((line) => line.length)).toEqual([2_000, 2_000])
  expect(pieces.rest()[0]).toHaveLength(500)
})

test("what Turns write is shown under their Agent's id, and one Turn's output is kept up to a bound", () => {
  let tell = (_: FleetEvent): void => undefined
  const { lines, view } = seen()
  const onEvent = (listener: (event: FleetEvent) => void) => {
    tell = listener
    return () => undefined
  }
  const turns = showTurns({ onEvent }, view)
  const { sessionId, turnId, computerId } = ids
  const at = { atMs: 1, sessionId }
  tell({
    ...at,
    type: "session_changed",
    added: true,
    agent: session.agent,
    computerId,
    parent: null,
    status: "open",
    process: "ready",
    generation: 1,
  })
  turns.keep(turnId)
  tell({ ...at, type: "turn_output", turnId, text: "one\ntw" })
  expect(lines).toEqual(["worker: one"])
  tell({ ...at, type: "turn_output", turnId, text: "o" })
  tell({ ...at, type: "turn_changed", turnId, added: false, sequence: 1, status: "completed", error: null })
  expect(lines).toEqual(["worker: one", "worker: two"])
  expect(turns.kept()).toEqual({ text: "one\ntwo", truncated: false })
  tell({ ...at, type: "turn_output", turnId, text: "y".repeat(300_000) })
  expect(turns.kept().truncated).toBe(true)
  expect(turns.kept().text).toHaveLength(262_144)
  turns.close()
})

test("what Session processes print is shown from where it began, also after its file was cut", async () => {
  const { lines, view } = seen()
  let look = (): void => undefined
  const every = (_: number, run: () => void) => {
    look = run
    return () => undefined
  }
  const sessions: SessionView[] = []
  const fleet = { snapshot: () => ({ atMs: 0, computers: [], sessions }) }
  const close = showConsole(fleet, view, { stateDirectory: state, ports: { every } })
  const folder = consoleFolder(state, session)
  sessions.push(session)
  look()
  await mkdir(folder, { recursive: true })
  await appendFile(join(folder, "stdout.log"), "hello\nwor")
  await appendFile(join(folder, "stderr.log"), "oops\n")
  look()
  expect(lines.splice(0)).toEqual(["worker stdout: hello", "worker stderr: oops"])
  await writeFile(join(folder, "stdout.log"), "ld\n")
  look()
  expect(lines.splice(0)).toEqual(["worker stdout: world"])
  await appendFile(join(folder, "stdout.log"), `${"z".repeat(70_000)}\nend`)
  look()
  expect(lines[0]).toBe("worker stdout: … 4468 bytes not shown")
  lines.splice(0)
  close()
  expect(lines).toEqual(["worker stdout: end"])
})

test("where the console of all Sessions lies is one pattern", () => {
  const pattern = consoleFolders(state)
  expect(new Bun.Glob(`${pattern}/*`).match(consoleFolder(state, session))).toBe(true)
})

test("what an earlier run printed is not shown again", async () => {
  const { lines, view } = seen()
  const folder = consoleFolder(state, session)
  await mkdir(folder, { recursive: true })
  await writeFile(join(folder, "stdout.log"), "old\n")
  const fleet = { snapshot: () => ({ atMs: 0, computers: [], sessions: [session] }) }
  const close = showConsole(fleet, view, { stateDirectory: state, ports: { every: () => () => undefined } })
  await appendFile(join(folder, "stdout.log"), "new\n")
  close()
  expect(lines).toEqual(["worker stdout: new"])
})
