import { Database } from "bun:sqlite"
import { afterEach, beforeEach, expect, test } from "bun:test"
import { existsSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { createJournal, type JournalEntry } from "@computerd/supervisor/journal"
import { openStore, type Store } from "@computerd/supervisor/store/open"
import { newAssignment, ports, temporaryDirectory } from "../harness.ts"

let directory: string
let entries: JournalEntry[]
const opened: Store[] = []

beforeEach(() => {
  directory = temporaryDirectory()
  entries = []
})
afterEach(() => {
  for (const store of opened.splice(0)) store.close()
  rmSync(directory, { recursive: true, force: true })
})

const tryOpen = () =>
  openStore({ directory, ports, journal: createJournal(ports.clock, [(entry) => entries.push(entry)]) })

const open = (): Store => {
  const result = tryOpen()
  if (!result.ok) throw new Error(result.error.message)
  opened.push(result.value)
  return result.value
}
const close = (store: Store): void => {
  opened.splice(opened.indexOf(store), 1)
  store.close()
}
const file = (): string => join(directory, "store.sqlite")
const pragma = (store: Store, name: string): unknown =>
  Object.values(store.database.query(`PRAGMA ${name}`).get() ?? {})[0]

test("the store runs in WAL mode with every pragma set on purpose and files for the owner only", () => {
  const store = open()
  expect(pragma(store, "journal_mode")).toBe("wal")
  expect(pragma(store, "synchronous")).toBe(1)
  expect(pragma(store, "foreign_keys")).toBe(1)
  expect(pragma(store, "busy_timeout")).toBe(50)
  expect(pragma(store, "journal_size_limit")).toBe(8 * 1024 * 1024)
  for (const name of readdirSync(directory))
    expect([name, statSync(join(directory, name)).mode & 0o777]).toEqual([name, 0o600])
})

test("a store that is opened again keeps its identity and what was written", () => {
  const first = open()
  const { id } = first
  const assignment = newAssignment("echo")
  first.transaction(() =>
    first.sessions.put({
      sessionId: assignment.sessionId,
      assignment,
      generation: 3,
      wanted: true,
      turn: undefined,
      next: undefined,
      ending: undefined,
      finishedTurn: undefined,
      lastExit: { kind: "code", code: 4 },
      recovery: undefined,
    }),
  )
  close(first)
  const second = open()
  expect(second.id).toBe(id)
  expect(second.sessions.get(assignment.sessionId)).toMatchObject({
    generation: 3,
    lastExit: { code: 4 },
    assignment,
  })
})

test("a garbage file is set aside under a name that the journal tells, and a fresh store is opened", () => {
  writeFileSync(file(), "this is not a database, but it is long enough to be taken for one".repeat(100))
  const store = open()
  const told = entries.find((entry) => entry.event === "store_set_aside")
  if (told?.event !== "store_set_aside") throw new Error("nothing was told")
  expect(readFileSync(told.keptAs, "utf8")).toStartWith("this is not a database")
  expect(store.id).toStartWith("str_")
})

test("a store with a damaged page is set aside and not deleted", () => {
  const store = open()
  const { id } = store
  store.database.run("CREATE TABLE filler (x TEXT)")
  for (let count = 0; count < 500; count += 1)
    store.database.run("INSERT INTO filler VALUES (?)", ["x".repeat(500)])
  store.database.run("PRAGMA wal_checkpoint(TRUNCATE)")
  close(store)
  const bytes = readFileSync(file())
  bytes.fill(0xff, 3 * 4096, 30 * 4096)
  writeFileSync(file(), bytes)
  const fresh = open()
  expect(fresh.id).not.toBe(id)
  const told = entries.find((entry) => entry.event === "store_set_aside")
  expect(told?.event === "store_set_aside" && readFileSync(told.keptAs).equals(bytes)).toBe(true)
})

test("a store of a later version is refused, named and left as it is", () => {
  close(open())
  const database = new Database(file())
  database.run("PRAGMA user_version = 9000")
  database.close()
  const before = readFileSync(file())
  const result = tryOpen()
  expect(result).toMatchObject({ ok: false, error: { code: "store_unavailable" } })
  if (!result.ok) expect(result.error.message).toContain("9000")
  expect(readFileSync(file()).equals(before)).toBe(true)
})

test("a second supervisor on one state directory is refused and told the pid of the first", () => {
  const first = open()
  const second = tryOpen()
  expect(second).toMatchObject({ ok: false, error: { code: "already_running" } })
  if (!second.ok) expect(second.error.message).toContain(`pid ${process.pid}`)
  expect(existsSync(join(directory, "supervisor.pid"))).toBe(true)
  close(first)
  expect(existsSync(join(directory, "supervisor.pid"))).toBe(false)
  open()
})

test("the lock of a supervisor that was killed is taken over at once", async () => {
  const program = join(import.meta.dir, "../programs/holder.ts")
  const child = Bun.spawn([process.execPath, program, directory], { stdout: "pipe" })
  const reader = child.stdout.getReader()
  try {
    const first = await reader.read()
    expect(new TextDecoder().decode(first.value).trim()).toBe("open")
    const refused = tryOpen()
    if (refused.ok) opened.push(refused.value)
    expect(refused.ok ? "" : refused.error.message).toContain(`pid ${child.pid}`)
  } finally {
    child.kill("SIGKILL")
    await child.exited
  }
  open()
})

test("a directory that cannot be used is refused with its name", () => {
  writeFileSync(join(directory, "plain"), "")
  const result = openStore({
    directory: join(directory, "plain"),
    ports,
    journal: createJournal(ports.clock),
  })
  expect(result).toMatchObject({ ok: false, error: { code: "store_unavailable" } })
  if (!result.ok) expect(result.error.message).toContain(join(directory, "plain"))
})
