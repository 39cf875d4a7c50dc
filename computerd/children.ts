/**
 * The commands of the processes that are started, and the packages that every program may use. A child takes nothing
 * from the folder that it happens to start in: no configuration of the runtime, no variables, no module paths; and it
 * never installs anything.
 */
import { dirname, join } from "node:path"

/** Runs one file, whatever lies around it. */
export const bun: readonly string[] = [
  process.execPath,
  "--config=/dev/null",
  "--tsconfig-override=/dev/null",
  "--no-env-file",
  "--no-install",
]

const here = import.meta.dir

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

/** What programs may import without having installed it: packages that this one depends on for their sake. */
export const fallbackModules = async (): Promise<Readonly<Record<string, string>>> => {
  const found = {
    "@helmr/sdk": modulePath("@helmr/sdk", here),
    "@modelcontextprotocol/sdk": modulePath("@modelcontextprotocol/sdk/types.js", here),
    zod: modulePath("zod", here),
  }
  const folders = Object.entries(found).map(
    async ([name, path]) => [name, await packageOf(path, name)] as const,
  )
  return Object.fromEntries(await Promise.all(folders))
}
