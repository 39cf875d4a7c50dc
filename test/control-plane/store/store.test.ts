import { Database } from "bun:sqlite"
import { afterEach, beforeEach, expect, test } from "bun:test"
import { chmodSync, mkdtempSync, rmSync, statSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { migration001 } from "@computerd/control-plane/store/migrations/001"
import { openStore, type Store } from "@computerd/control-plane/store/open"
import type { DeploymentId } from "@computerd/protocol/ids"
import { DeploymentManifest } from "@computerd/protocol/manifest"
import { agentOf, countingIds, createRig, environment, manifestOf, startRoot } from "../rig.ts"

let directory: string
let path: string
const opened: Store[] = []

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), "computerd-store-"))
  path = join(directory, "control-plane.sqlite")
})
afterEach(() => {
  for (const store of opened.splice(0)) store.close()
  rmSync(directory, { recursive: true })
})

const open = (at = path): Store => {
  const result = openStore(at)
  if (!result.ok) throw new Error(result.error.message)
  opened.push(result.value)
  return result.value
}

const closeAll = (): void => {
  for (const store of opened.splice(0)) store.close()
}

const addDeployment = (store: Store): DeploymentId => {
  const id = countingIds()("dep")
  store.tables.deployments.add({ id, environment, manifest: manifestOf([agentOf("lead")]), createdAt: 1 })
  return id
}

test("the file and its companions are for their owner alone, also when the file was open to all", () => {
  writeFileSync(path, "")
  chmodSync(path, 0o666)
  const store = open()
  addDeployment(store)
  for (const name of ["", "-wal", "-shm"]) expect(statSync(path + name).mode & 0o777, name).toBe(0o600)
})

test("a fresh file gets the newest layout, a write-ahead log, full synchronization and foreign keys", () => {
  const store = open()
  closeAll()
  const file = new Database(path)
  expect(file.query("pragma user_version").get()).toEqual({ user_version: store.version })
  expect(file.query("pragma journal_mode").get()).toEqual({ journal_mode: "wal" })
  file.close()
})

test("opening again changes nothing and finds everything", () => {
  const id = addDeployment(open())
  closeAll()
  const before = new Database(path).query("select * from deployments").all()
  expect(open().state.currentDeployment(environment)).toBe(id)
  closeAll()
  expect(new Database(path).query("select * from deployments").all()).toEqual(before)
})

test("a store of the first layout is taken over with its Sessions, whose history begins with what comes next", () => {
  const file = new Database(path)
  file.run(migration001)
  file.run("pragma user_version = 1")
  const id = countingIds()("ses")
  file.run("insert into deployments values ('dep', 'default', '{}', 1)")
  file.run(
    `insert into computers (id, environment, deployment_id, template, status, residency, desired, epoch, attached,
     command_seq, command_ack, created_at, updated_at)
     values ('cmp', 'default', 'dep', 'basic', 'available', 'cold', 'idle', 0, 0, 0, 0, 1, 1)`,
  )
  file.run(
    `insert into sessions (id, environment, deployment_id, agent, template, computer_id, role, root_id, depth, status,
     closing, last_sequence, generation, process, losses, created_at)
     values ('${id}', 'default', 'dep', 'lead', 'basic', 'cmp', 'root', '${id}', 0, 'open', 'none', 0, 0, 'none', 0, 1)`,
  )
  file.close()
  const { tables, version } = open()
  expect(version).toBe(2)
  const session = tables.sessions.get(id)
  if (session === undefined) throw new Error("the Session is gone")
  const page = { session, tree: true, after: 0, limit: 10 }
  expect(tables.history.page(page)).toEqual([])
  tables.history.append([{ sessionId: id, body: { type: "session_closed" } }], 2)
  expect(tables.history.page(page)).toEqual([
    { sequence: 1, sessionId: id, body: { type: "session_closed" }, createdAt: 2 },
  ])
})

test("numbers of dropped history never come again", () => {
  const rig = createRig({ path })
  rig.publish(["lead"])
  const { sessionId, turnId, supervisor } = startRoot(rig, "lead")
  supervisor.emit({
    type: "turn_output",
    sessionId,
    generation: supervisor.generation(sessionId),
    turnId,
    text: "soon gone",
  })
  const other = open(rig.path)
  const session = other.tables.sessions.get(sessionId)
  if (session === undefined) throw new Error("the Session is gone")
  const read = () => other.tables.history.page({ session, tree: true, after: 0, limit: 100 })
  const last = read().at(-1)
  expect(last?.body.type).toBe("turn_output")
  other.tables.history.dropOutput(turnId)
  supervisor.settle(sessionId, turnId)
  expect(read().at(-1)).toMatchObject({ sequence: (last?.sequence ?? 0) + 1, body: { type: "turn_settled" } })
  expect(read().some(({ body }) => body.type === "turn_output")).toBe(false)
  return rig.close()
})

test("a file of a newer program is refused with both numbers, and left as it is", () => {
  open()
  closeAll()
  const file = new Database(path)
  file.run("pragma user_version = 999")
  file.close()
  const refused = openStore(path)
  expect(refused.ok ? "" : `${refused.error.code}: ${refused.error.message}`).toMatch(
    /^store_unavailable: .*has layout 999 and this program knows 2/,
  )
  expect(new Database(path).query("pragma user_version").get()).toEqual({ user_version: 999 })
})

test("a file that is no database is refused and not touched", () => {
  const words = "this is somebody's letter, not a database, and long enough to be looked at. ".repeat(20)
  writeFileSync(path, words)
  const refused = openStore(path)
  expect(refused.ok ? "opened" : refused.error.code).toBe("store_unavailable")
  expect(statSync(path).size).toBe(words.length)
})

test("a directory that does not exist is refused with the path", () => {
  const refused = openStore(join(directory, "missing", "store.sqlite"))
  expect(refused.ok ? "opened" : refused.error.message).toContain(join(directory, "missing"))
})

test("work that throws leaves nothing behind, and the next transaction works", () => {
  const store = open()
  const failing = (): void => {
    store.transaction(() => {
      addDeployment(store)
      throw new Error("half way")
    })
  }
  expect(failing).toThrow("half way")
  expect(store.state.currentDeployment(environment)).toBeUndefined()
  store.transaction(() => addDeployment(store))
  expect(store.state.currentDeployment(environment)).toBeDefined()
})

test("a manifest from before policies were resolved is resolved when it is read, and never as open", () => {
  const store = open()
  const id = addDeployment(store)
  closeAll()
  const bare = { id: "t", image: { name: "t", steps: [] }, resources: { cpu: 1, memoryBytes: 1 } }
  const old = (id: string, fields: object) => ({ ...bare, id, deleteAfterUnusedMs: null, ...fields })
  const templates = [
    old("plain", { hasPrepare: false }),
    old("listed", { hasPrepare: true, network: { allowDomains: ["B.example.com", "a.example.com"] } }),
    old("refused", { hasPrepare: false, network: { allowDomains: ["*"] }, secrets: "all" }),
  ]
  const file = new Database(path)
  file.run("update deployments set manifest = ?", [
    JSON.stringify({ ...manifestOf([agentOf("lead")]), templates }),
  ])
  file.close()
  const manifest = open().tables.deployments.get(id)?.manifest
  const read = DeploymentManifest.parse(manifest).templates
  const listed = { allowDomains: ["a.example.com", "b.example.com"] }
  expect(read.map(({ network, prepareNetwork }) => ({ network, prepareNetwork }))).toEqual([
    { network: { blockAll: false }, prepareNetwork: { blockAll: true } },
    { network: listed, prepareNetwork: listed },
    { network: { blockAll: true }, prepareNetwork: { blockAll: true } },
  ])
})

test("a secret is made once and kept with the data", () => {
  const first = open().secret("cursor_key", () => "first")
  closeAll()
  expect([first, open().secret("cursor_key", () => "second")]).toEqual(["first", "first"])
})

test("statements run on PostgreSQL's rules too: numbered placeholders in order, no words of SQLite's own", async () => {
  const texts: string[] = []
  const glob = new Bun.Glob("*.ts")
  const root = join(import.meta.dir, "../../../control-plane/store")
  for await (const name of glob.scan(root)) {
    const source = await Bun.file(join(root, name)).text()
    texts.push(...(source.match(/(["`])(?:select|insert|update|delete|with)\b[\s\S]*?\1/g) ?? []))
  }
  expect(texts.length).toBeGreaterThan(30)
  for (const text of texts) {
    expect(text).not.toMatch(
      /\?|\browid\b|\binsert or\b|\breplace into\b|\bifnull\b|\bglob\b|\bpragma\b|datetime\(/i,
    )
    const numbers = [...text.matchAll(/\$(\d+)/g)].map((match) => Number(match[1]))
    const firsts = [...new Set(numbers)]
    expect(firsts, text).toEqual([...firsts].sort((left, right) => left - right))
  }
})

test("the layout holds no column type or table option of SQLite's own", async () => {
  const text = await Bun.file(join(import.meta.dir, "../../../control-plane/store/migrations/001.ts")).text()
  expect(text).not.toMatch(/\b(autoincrement|strict|without rowid|blob|datetime)\b/i)
})
