/** Audits one top-level folder of the workspace, or with `.` the files that are in no folder. */
import { join } from "node:path"
import { changesIn } from "../history/changes.ts"
import { openRepository } from "../history/repository.ts"
import type { Findings } from "./findings.ts"
import { type Measured, measure } from "./measure.ts"
import { realFolders, selectFiles } from "./selection.ts"
import { tally } from "./tally.ts"

/** Files read at the same time: enough to keep a disk busy, and few enough open files and buffers. */
const readers = 8

export interface AuditRequest {
  readonly workspace: string
  readonly folder: string
  readonly signal: AbortSignal
}

export const auditFolder = async (request: AuditRequest): Promise<Findings> => {
  const { workspace, folder, signal } = request
  // A name leads nowhere else; anything more would.
  if (folder === "" || folder === ".." || folder.includes("/"))
    throw new Error(`${JSON.stringify(folder)} is no top-level folder`)
  const git = { workspace, signal }
  const repository = await openRepository(workspace, signal)
  const selection = await selectFiles(git, repository, folder)
  const changes = await changesIn(git, repository, folder)
  const totals = tally(selection.unreadableFolders)
  const isReal = realFolders(workspace)
  const look = async (path: string): Promise<Measured> =>
    (await isReal(path)) ? measure(join(workspace, path)) : { kind: "missing" }

  const waiting = selection.paths.values()
  const reader = async (): Promise<void> => {
    for (const path of waiting) {
      signal.throwIfAborted()
      totals.add(path, await look(path), changes.perFile.get(path) ?? 0)
    }
  }
  await Promise.all(Array.from({ length: readers }, reader))
  return { folder, selectedBy: selection.by, ...totals.totals(), history: changes.history }
}
