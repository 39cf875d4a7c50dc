/**
 * The commands of the processes that are started, and the packages that every program may use. A child takes nothing
 * from the folder that it happens to start in: no configuration of the runtime, no variables, no module paths; and it
 * never installs anything.
 */
import { mkdtemp, rename, rm } from "node:fs/promises"
import { dirname, join } from "node:path"
import { fail, ok, type Result } from "@computerd/protocol/errors"
import { buildSessionHost } from "@computerd/session-host/build"

const bun: readonly string[] = [
  process.execPath,
  "--config=/dev/null",
  "--tsconfig-override=/dev/null",
  "--no-env-file",
  "--no-install",
]

const here = import.meta.dir

export const supervisorCommand: readonly string[] = [...bun, join(here, "main.ts")]

const modulePath = (specifier: string, from: string): string => Bun.resolveSync(specifier, from)

export const describeCommand: readonly string[] = [
  ...bun,
  modulePath("@computerd/session-host/describe", here),
]

/** The folder of package `name` that holds `path`. */
const packageOf = async (path: string, name: string): Promise<string> => {
  for (let folder = dirname(path); folder !== dirname(folder); folder = dirname(folder)) {
    const manifest = Bun.file(join(folder, "package.json"))
    if (!(await manifest.exists())) continue
    const { name: found }: { readonly name?: unknown } = await manifest.json()
    if (found === name) return folder
  }
  throw new Error(`${path} belongs to no package ${name}`)
}

/** What programs may import without having installed it; each as the part that depends on it has it. */
export const fallbackModules = async (): Promise<Readonly<Record<string, string>>> => {
  const sessionHost = dirname(modulePath("@computerd/session-host/main", here))
  const controlPlane = dirname(modulePath("@computerd/control-plane/control-plane", here))
  const runtimeMcp = dirname(modulePath("@computerd/runtime-mcp/policy/parse", controlPlane))
  const found = {
    "@helmr/sdk": modulePath("@helmr/sdk", sessionHost),
    "@modelcontextprotocol/sdk": modulePath("@modelcontextprotocol/sdk/types.js", runtimeMcp),
    zod: modulePath("zod", sessionHost),
  }
  const folders = Object.entries(found).map(
    async ([name, path]) => [name, await packageOf(path, name)] as const,
  )
  return Object.fromEntries(await Promise.all(folders))
}

/**
 * Builds the session host into `directory`; the command that starts it. Session processes that already run from an
 * earlier build, and those that start meanwhile, find a whole file at any moment.
 */
export const sessionHostCommand = async (directory: string): Promise<Result<readonly string[]>> => {
  const built = join(directory, "session-host.js")
  let staged: string | undefined
  try {
    staged = await mkdtemp(join(directory, "session-host-"))
    await rename(await buildSessionHost(staged), built)
    return ok([...bun, built])
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error)
    return fail("internal", `the session host cannot be built: ${reason}`)
  } finally {
    if (staged !== undefined) await rm(staged, { recursive: true, force: true })
  }
}
