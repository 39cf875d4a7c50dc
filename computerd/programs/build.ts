/** Builds the programs that processes of a control plane start from: each one file and its bytecode. */
import { chmod, readdir } from "node:fs/promises"
import { join } from "node:path"
import { buildSessionHost } from "@computerd/session-host/build"

export const supervisorFile = "supervisor.js"
export const sessionHostFile = "session-host.js"

const buildSupervisor = async (directory: string): Promise<void> => {
  await Bun.build({
    entrypoints: [join(import.meta.dir, "../supervisor.ts")],
    outdir: directory,
    naming: "supervisor.[ext]",
    target: "bun",
    format: "cjs",
    bytecode: true,
    minify: { whitespace: true, syntax: true, identifiers: false },
  })
}

/** A build is written as if anybody may read it. */
const keepPrivate = async (directory: string): Promise<void> => {
  for (const name of await readdir(directory)) await chmod(join(directory, name), 0o600)
}

/** Writes into `directory`, which is empty. */
export const build = async (directory: string): Promise<void> => {
  await Promise.all([buildSupervisor(directory), buildSessionHost(directory)])
  await keepPrivate(directory)
}
