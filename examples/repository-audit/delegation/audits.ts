/** Has every top-level folder audited by a child on a Computer of its own. */
import { createHash } from "node:crypto"
import { isFindings } from "../audit/findings.ts"
import type { FolderOutcome } from "../report/outcome.ts"
import { bounded } from "./bounded.ts"
import { type ChildOutcome, runChild } from "./child.ts"
import { ToolError, type Tools } from "./tools.ts"

export interface AuditsRequest {
  readonly turnId: string
  readonly folders: readonly string[]
  readonly signal: AbortSignal
}

/** Each auditor brings a Computer with its own copy of the repository, so only a few run at once. */
export const auditorsMax = 3

/** Within the limit of a key, however long the folder's name is. */
const keyOf = (turnId: string, folder: string): string =>
  `audit:${turnId}:${createHash("sha256").update(folder).digest("hex")}`

const failed = (folder: string, code: string, message: string | null): FolderOutcome => ({
  kind: "failed",
  folder,
  code,
  message,
})

const folderOutcome = (folder: string, outcome: ChildOutcome): FolderOutcome => {
  if (outcome.status !== "completed") return failed(folder, outcome.code, outcome.message)
  return isFindings(outcome.result)
    ? { kind: "audited", findings: outcome.result }
    : failed(folder, "internal", "the auditor returned something else than findings")
}

const audited = async (tools: Tools, folder: string, request: AuditsRequest): Promise<FolderOutcome> => {
  const { turnId, signal } = request
  const child = { agent: "auditor", text: folder, idempotencyKey: keyOf(turnId, folder) }
  try {
    return folderOutcome(folder, await runChild(tools, child, signal))
  } catch (error) {
    // Only this folder is lost; an interrupted Turn, though, has nobody left to report to.
    signal.throwIfAborted()
    if (error instanceof ToolError) return failed(folder, error.code, error.message)
    return failed(folder, "internal", error instanceof Error ? error.message : String(error))
  }
}

export const auditFolders = (tools: Tools, request: AuditsRequest): Promise<readonly FolderOutcome[]> =>
  bounded(request.folders, auditorsMax, (folder) => audited(tools, folder, request))
