import { Database } from "bun:sqlite"
import { afterEach, beforeEach, expect, test } from "bun:test"
import { rename } from "node:fs/promises"
import { join } from "node:path"
import { auditFolder } from "../../examples/repository-audit/audit/folder.ts"
import { topFolders } from "../../examples/repository-audit/audit/selection.ts"
import type { FolderOutcome } from "../../examples/repository-audit/report/outcome.ts"
import { renderReport } from "../../examples/repository-audit/report/report.ts"
import { type Fixture, repository } from "../examples/fixture.ts"
import { boundMs, eventually, listeners, type Sandbox, sandbox, startAudit, supervisors } from "./sandbox.ts"

const patience = boundMs * 2

let place: Sandbox
let repo: Fixture

beforeEach(async () => {
  place = await sandbox()
  repo = await repository()
  await repo.write({
    "README.md": "# Fixture\n",
    "one/main.go": "package main\n// TODO: all\n",
    "two words/x.py": "x = 1\n# FIXME\n# TODO\n",
    ".three/data.bin": new Uint8Array([0, 1, 2]),
    "four/a.ts": "export const a = 1\n",
  })
  await repo.commit("one")
  await repo.write({ "one/main.go": "package main\n// TODO: more\n" })
  await repo.commit("two")
})

afterEach(async () => {
  await place.remove()
  await repo.remove()
})

/** The same analysis without any Computer. */
const expected = async (failed: readonly FolderOutcome[] = []): Promise<string> => {
  const signal = new AbortController().signal
  const outcomes: FolderOutcome[] = []
  for (const folder of [".", ...(await topFolders(repo.path))]) {
    const lost = failed.find((outcome) => outcome.kind === "failed" && outcome.folder === folder)
    const findings = async () => auditFolder({ workspace: repo.path, folder, signal })
    outcomes.push(lost ?? { kind: "audited", findings: await findings() })
  }
  return renderReport(outcomes)
}

/** A store of a version that does not exist: who has it open goes on, and nobody can open it again. */
const spoilStore = (stateDirectory: string): void => {
  const database = new Database(join(stateDirectory, "store.sqlite"))
  database.run("PRAGMA busy_timeout = 5000")
  database.run("PRAGMA user_version = 9000")
  database.close()
}

const nothingIsLeft = async (): Promise<void> => {
  expect(await place.processes()).toEqual([])
  expect(await place.files()).toEqual([])
}

test(
  "each folder is audited on a Computer of its own, over loopback alone, and nothing is left",
  async () => {
    const run = place.run(startAudit, repo.path)
    const seen = new Map<string, { readonly pid: number; readonly workspace: string }>()
    const addresses = new Set<string>()
    let over = false
    const watching = (async () => {
      while (!over) {
        for (const { computerId, pid, workspace } of await supervisors(place))
          seen.set(computerId, { pid, workspace })
        for (const address of await listeners([run.pid, ...(await place.processes())])) addresses.add(address)
        await Bun.sleep(20)
      }
    })()
    const { exitCode, out, err } = await run.done
    over = true
    await watching
    expect({ exitCode, out }).toEqual({ exitCode: 0, out: await expected() })
    for (const known of [
      "| `one` | 1 | 2 | Go | 500.00 | `one/main.go` (2) |",
      "| `two words` | 1 | 3 | Python | 666.67 | `two words/x.py` (1) |",
      "| `.three` | 1 | 0 | – | – | `.three/data.bin` (1) |",
      "| top level | 1 | 1 | Markdown | 0.00 | `README.md` (1) |",
    ])
      expect(out).toContain(known)
    expect(seen.size).toBe(5)
    expect(new Set([...seen.values()].map(({ pid }) => pid)).size).toBe(5)
    expect(new Set([...seen.values()].map(({ workspace }) => workspace)).size).toBe(5)
    expect(addresses.size).toBeGreaterThan(0)
    expect([...addresses].filter((address) => !address.startsWith("0100007F:"))).toEqual([])
    expect(err).toMatch(/Session ses_\S+ coordinator on Computer cmp_/)
    await nothingIsLeft()
  },
  patience,
)

test(
  "kill -9 of one Computer's supervisor costs nothing: it is started again and the report is whole",
  async () => {
    const report = await expected()
    const run = place.run(startAudit, repo.path)
    const line = await run.line(/Session ses_\S+ auditor on Computer (cmp_\S+):/)
    const computerId = /Computer (cmp_[^:\s]+)/.exec(line)?.[1]
    const found = await eventually("the auditor's supervisor", async () =>
      (await supervisors(place)).find((one) => one.computerId === computerId),
    )
    await run.line(new RegExp(`Computer ${computerId}: running`))
    process.kill(found.pid, "SIGKILL")
    const { exitCode, out } = await run.done
    expect({ exitCode, out }).toEqual({ exitCode: 0, out: report })
    await nothingIsLeft()
  },
  patience,
)

test(
  "the loss of one Computer's supervisor for good fails that auditor alone, and the report names it",
  async () => {
    const run = place.run(startAudit, repo.path)
    const line = await run.line(/Session ses_\S+ auditor on Computer (cmp_\S+):/)
    const computerId = /Computer (cmp_[^:\s]+)/.exec(line)?.[1]
    const found = await eventually("the auditor's supervisor", async () =>
      (await supervisors(place)).find((one) => one.computerId === computerId),
    )
    // Attached, so that the work is there; its Session process has yet to start.
    await run.line(new RegExp(`Computer ${computerId}: running`))
    spoilStore(found.stateDirectory)
    process.kill(found.pid, "SIGKILL")
    const { exitCode, out } = await run.done
    const folder = /- `([^`]+)` failed with `process_lost`/.exec(out)?.[1]
    expect({ exitCode, folder: folder !== undefined }).toEqual({ exitCode: 0, folder: true })
    expect(out).toContain("**Not complete:** 1 of 5 parts could not be audited.")
    for (const other of ["one", "two words", ".three", "four"].filter((name) => name !== folder))
      expect(out).toContain(`## \`${other}\``)
    await nothingIsLeft()
  },
  patience,
)

test(
  "a repository that is renamed after publication is audited as it was",
  async () => {
    const report = await expected()
    const run = place.run(startAudit, repo.path)
    await run.line(/Computer cmp_\S+: starting/)
    await rename(repo.path, `${repo.path}.moved`)
    try {
      const { exitCode, out } = await run.done
      expect({ exitCode, out }).toEqual({ exitCode: 0, out: report })
    } finally {
      await rename(`${repo.path}.moved`, repo.path)
    }
  },
  patience,
)
