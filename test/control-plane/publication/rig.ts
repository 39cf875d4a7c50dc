/** Programs in temporary directories, and publication with the real bundler and the real describing process. */
import { chmod, mkdir, mkdtemp, realpath, rm, symlink, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import { baseEnvironment } from "@computerd/control-plane/environment"
import { silentJournal } from "@computerd/control-plane/journal"
import { systemPorts } from "@computerd/control-plane/ports"
import { openContentStore } from "@computerd/control-plane/publication/content/store"
import { type PublicationDeps, publishProgram } from "@computerd/control-plane/publication/publish"

export const repository = join(import.meta.dir, "../../..")

export const fallbackModules = {
  "@helmr/sdk": join(repository, "sdk"),
  "@modelcontextprotocol/sdk": join(repository, "runtime-mcp/node_modules/@modelcontextprotocol/sdk"),
  zod: join(repository, "protocol/node_modules/zod"),
}

export const bun = [process.execPath, "--no-install"]
export const describeCommand = [...bun, join(repository, "session-host/describe.ts")]

export type Tree = {
  readonly [path: string]:
    | string
    | { readonly link: string }
    | { readonly mode: number; readonly text: string }
}

export const writeTree = async (root: string, tree: Tree): Promise<void> => {
  for (const [path, content] of Object.entries(tree)) {
    const target = join(root, path)
    await mkdir(dirname(target), { recursive: true })
    if (path.endsWith("/")) await mkdir(target, { recursive: true })
    else if (typeof content === "string") await writeFile(target, content)
    else if ("link" in content) await symlink(content.link, target)
    else {
      await writeFile(target, content.text)
      await chmod(target, content.mode)
    }
  }
}

/** `head` comes before an Agent named `a` on a Template named `t`; `fields` are put into the Agent. */
export const program = (
  options: { head?: string; image?: string; agent?: string; template?: string; tail?: string } = {},
) => `
import { agent, image, source, template } from "@helmr/sdk"
${options.head ?? ""}
const t = template({
  id: "t",
  image: ${options.image ?? 'image("plain").workdir("/workspace")'},
  resources: { cpu: 1, memory: "1GiB" },
  ${options.template ?? ""}
})
export const a = agent({ id: "a", template: t, ${options.agent ?? ""} async turn() { return null } })
${options.tail ?? ""}
`

export const createRig = async () => {
  const root = await realpath(await mkdtemp(join(tmpdir(), "publication-")))
  const stateDirectory = join(root, "state")
  await mkdir(stateDirectory)
  const ports = systemPorts(silentJournal)
  const content = await openContentStore(stateDirectory, () => Bun.randomUUIDv7())
  const deps: PublicationDeps = {
    ports,
    environment: baseEnvironment(process.env),
    fallbackModules,
    content,
    stateDirectory,
    describeCommand,
    ceiling: [],
  }
  return {
    root,
    stateDirectory,
    content,
    deps,
    program: async (name: string, tree: Tree) => {
      const directory = join(root, name)
      await mkdir(directory, { recursive: true })
      await writeTree(directory, tree)
      return directory
    },
    publish: (
      directory: string,
      changes: Partial<PublicationDeps> & { variables?: Record<string, string> } = {},
    ) => publishProgram(directory, changes.variables ?? {}, { ...deps, ...changes }),
    remove: () => rm(root, { recursive: true, force: true }),
  }
}
export type Rig = Awaited<ReturnType<typeof createRig>>
