/** A project outside of the repository that has installed the package, as npm does it but without a registry. */
import { copyFile, mkdir, mkdtemp, readdir, realpath, rm, symlink, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import { extract } from "tar"

export const repository = join(import.meta.dir, "../..")
const fixtures = join(repository, "test/fixtures/package")

export interface Ran {
  readonly exitCode: number
  readonly stdout: string
  readonly stderr: string
}

export const run = async (
  command: readonly string[],
  options: { readonly cwd: string; readonly env?: Readonly<Record<string, string>> },
): Promise<Ran> => {
  const started = Bun.spawn([...command], { stdin: "ignore", stdout: "pipe", stderr: "pipe", ...options })
  const [stdout, stderr] = await Promise.all([
    new Response(started.stdout).text(),
    new Response(started.stderr).text(),
  ])
  return { exitCode: await started.exited, stdout, stderr }
}

/** What an installer would put beside the package, and the types that a compiler is shown. */
const linked = async (): Promise<Readonly<Record<string, string>>> => {
  const bunTypes = await realpath(join(repository, "node_modules/bun-types"))
  const dependencies = ["ignore", "tar", "zod"].map((name) => [
    name,
    join(repository, "sdk/node_modules", name),
  ])
  return {
    ...Object.fromEntries(dependencies),
    "bun-types": bunTypes,
    "@types/node": join(dirname(bunTypes), "@types/node"),
  }
}

/** The path of the tarball. */
const pack = async (directory: string): Promise<string> => {
  const made = await run([process.execPath, join(repository, "sdk/packaging/make.ts"), directory], {
    cwd: directory,
  })
  const tarball = (await readdir(directory)).find((name) => name.endsWith(".tgz"))
  if (made.exitCode !== 0 || tarball === undefined) throw new Error(made.stderr)
  return join(directory, tarball)
}

export const createConsumer = async () => {
  const root = await realpath(await mkdtemp(join(tmpdir(), "consumer-")))
  const tarball = await pack(root)
  const directory = join(root, "project")
  const installed = join(directory, "node_modules/@helmr/sdk")
  await mkdir(installed, { recursive: true })
  await mkdir(join(directory, "node_modules/@types"))
  await extract({ file: tarball, cwd: installed, strip: 1 })
  for (const [name, path] of Object.entries(await linked()))
    await symlink(await realpath(path), join(directory, "node_modules", name))
  for (const name of await readdir(fixtures)) await copyFile(join(fixtures, name), join(directory, name))
  await writeFile(join(directory, "package.json"), JSON.stringify({ name: "project", type: "module" }))
  return {
    directory,
    installed,
    tarball,
    write: async (name: string, text: string): Promise<string> => {
      await writeFile(join(directory, name), text)
      return join(directory, name)
    },
    close: () => rm(root, { recursive: true }),
  }
}

export type Consumer = Awaited<ReturnType<typeof createConsumer>>
