/**
 * The programs that processes of a control plane start from, built once into its state directory. A build lies in a
 * folder that its content names: it is never changed, so what started from it, or will, finds it whole.
 */
import { chmod, mkdir, mkdtemp, readdir, rename, rm } from "node:fs/promises"
import { basename, join } from "node:path"
import { fail, ok, type Result } from "@computerd/protocol/errors"
import { buildSessionHost } from "@computerd/session-host/build"

export interface Programs {
  readonly supervisor: string
  readonly sessionHost: string
}

/** Writes `supervisor.js` and its bytecode into `directory`; the path of the file to run. */
const buildSupervisor = async (directory: string): Promise<string> => {
  const built = await Bun.build({
    entrypoints: [join(import.meta.dir, "supervisor.ts")],
    outdir: directory,
    naming: "supervisor.[ext]",
    target: "bun",
    format: "cjs",
    bytecode: true,
    minify: { whitespace: true, syntax: true, identifiers: false },
  })
  const entry = built.outputs.find((output) => output.kind === "entry-point")
  if (entry === undefined) throw new Error("the supervisor could not be built")
  return entry.path
}

/** A build is written as if anybody may read it. */
const keepPrivate = async (directory: string): Promise<void> => {
  for (const name of await readdir(directory)) await chmod(join(directory, name), 0o600)
}

const digestOf = async (directory: string): Promise<string> => {
  const hash = new Bun.CryptoHasher("sha256")
  for (const name of (await readdir(directory)).sort()) {
    hash.update(`${name}\0`)
    hash.update(await Bun.file(join(directory, name)).bytes())
  }
  return hash.digest("hex")
}

/** Puts a finished build in its place, unless the same one is there already. */
const place = async (staged: string, at: string): Promise<void> => {
  try {
    await rename(staged, at)
  } catch (error) {
    const taken =
      error instanceof Error && "code" in error && ["EEXIST", "ENOTEMPTY"].includes(String(error.code))
    if (!taken) throw error
  }
}

const build = async (directory: string): Promise<Programs> => {
  await mkdir(directory, { recursive: true, mode: 0o700 })
  const staged = await mkdtemp(join(directory, "building-"))
  try {
    const [supervisor, sessionHost] = await Promise.all([buildSupervisor(staged), buildSessionHost(staged)])
    await keepPrivate(staged)
    const at = join(directory, await digestOf(staged))
    await place(staged, at)
    return { supervisor: join(at, basename(supervisor)), sessionHost: join(at, basename(sessionHost)) }
  } finally {
    await rm(staged, { recursive: true, force: true })
  }
}

export const buildPrograms = async (stateDirectory: string): Promise<Result<Programs>> => {
  try {
    return ok(await build(join(stateDirectory, "programs")))
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error)
    return fail(
      "invalid_configuration",
      `the programs of Computers cannot be built in ${stateDirectory}: ${reason}`,
    )
  }
}
