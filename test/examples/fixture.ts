/** Folders and git repositories made for one test, with fixed authors and times; `remove` takes everything away. */
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"

export interface Fixture {
  readonly path: string
  readonly write: (files: Readonly<Record<string, string | Uint8Array>>) => Promise<void>
  readonly git: (...args: readonly string[]) => Promise<string>
  /** Adds everything and commits it. */
  readonly commit: (message: string) => Promise<void>
  readonly remove: () => Promise<void>
}

const environment = (path: string) => ({
  PATH: process.env["PATH"],
  HOME: path,
  GIT_CONFIG_NOSYSTEM: "1",
  GIT_CONFIG_GLOBAL: "/dev/null",
  GIT_AUTHOR_NAME: "A",
  GIT_AUTHOR_EMAIL: "a@example.invalid",
  GIT_AUTHOR_DATE: "2026-01-02T03:04:05Z",
  GIT_COMMITTER_NAME: "A",
  GIT_COMMITTER_EMAIL: "a@example.invalid",
  GIT_COMMITTER_DATE: "2026-01-02T03:04:05Z",
  GIT_ALLOW_PROTOCOL: "file",
})

export const fixture = async (): Promise<Fixture> => {
  const path = await mkdtemp(join(tmpdir(), "repository-audit-"))
  const git = async (...args: readonly string[]): Promise<string> => {
    const run = Bun.spawn(["git", "-C", path, ...args], {
      env: environment(path),
      stdin: "ignore",
      stdout: "pipe",
      stderr: "pipe",
    })
    const [out, err, code] = await Promise.all([run.stdout.text(), run.stderr.text(), run.exited])
    if (code !== 0) throw new Error(`git ${args.join(" ")}: ${err}`)
    return out
  }
  return {
    path,
    write: async (files) => {
      for (const [name, content] of Object.entries(files)) {
        await mkdir(dirname(join(path, name)), { recursive: true })
        await writeFile(join(path, name), content)
      }
    },
    git,
    commit: async (message) => {
      await git("add", "--all")
      await git("commit", "--quiet", "--message", message)
    },
    remove: () => rm(path, { recursive: true, force: true }),
  }
}

export const repository = async (): Promise<Fixture> => {
  const made = await fixture()
  await made.git("init", "--quiet", "--initial-branch=main")
  return made
}
