/**
 * Audits a repository: a coordinator has each top-level folder read by an auditor on a Computer of its own, and answers
 * with one Markdown report.
 *
 * The Template carries a copy of the directory that AUDIT_REPOSITORY names when the program is published. Nothing reads
 * that directory afterwards: every Computer has the copy in its workspace.
 */
import { existsSync } from "node:fs"
import { join } from "node:path"
import { agent, image, source, template } from "@helmr/sdk"
import { Client } from "@modelcontextprotocol/sdk/client/index.js"
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js"
import { auditFolder } from "./audit/folder.ts"
import { topFolders } from "./audit/selection.ts"
import { auditFolders } from "./delegation/audits.ts"
import { toolsOf } from "./delegation/tools.ts"
import { renderReport } from "./report/report.ts"

/** Set for publication alone; in a Session process the copy is already there. */
const audited = process.env["AUDIT_REPOSITORY"] ?? "."

export const repository = template({
  id: "repository",
  image: image("repository")
    // Without a repository nothing says what is ignored, and every file counts.
    .copy(
      source.directory(audited, {
        gitignore: existsSync(join(audited, ".git")),
        exclude: ["node_modules"],
      }),
      "/workspace",
    )
    .workdir("/workspace"),
  resources: { cpu: 1, memory: "1GiB" },
  deleteAfterUnused: "30s",
})

/** Reads the folder that its input names, in its own copy of the repository. */
export const auditor = agent({
  id: "auditor",
  template: repository,
  runtimeMcp: { allow: [] },
  closeAfterIdle: "1s",
  turn: (turn) =>
    auditFolder({
      workspace: process.cwd(),
      folder: turn.input.map((part) => part.text).join(""),
      signal: turn.signal,
    }),
})

export const coordinator = agent({
  id: "coordinator",
  template: repository,
  runtimeMcp: {
    allow: [
      { operation: "spawn", agents: ["auditor"], computer: "new" },
      { operation: "inspect_session", agents: ["auditor"] },
      { operation: "inspect_turn", agents: ["auditor"] },
    ],
  },
  async init(ctx) {
    const { url, headers } = await ctx.mcp.getConnectionOptions()
    const client = new Client({ name: "repository-audit", version: "1.0.0" })
    await client.connect(new StreamableHTTPClientTransport(new URL(url), { requestInit: { headers } }))
    return { tools: toolsOf(client) }
  },
  async turn(turn, { initResult: { tools } }) {
    const workspace = process.cwd()
    const folders = await topFolders(workspace)
    const [topLevel, outcomes] = await Promise.all([
      auditFolder({ workspace, folder: ".", signal: turn.signal }),
      auditFolders(tools, { turnId: turn.id, folders, signal: turn.signal }),
    ])
    await turn.respond(renderReport([{ kind: "audited", findings: topLevel }, ...outcomes]))
    return { folders: folders.length, failed: outcomes.filter(({ kind }) => kind === "failed").length }
  },
})
