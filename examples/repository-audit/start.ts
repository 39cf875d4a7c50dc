/**
 * `bun start [PATH]`: audits the repository at PATH, or the one that this example is part of. It is `computerd dev` with
 * the program, the Agent and the variable filled in.
 */
import { constants } from "node:fs"
import { access, realpath, stat } from "node:fs/promises"
import { resolve } from "node:path"
import { runCommand } from "@computerd/computerd/execute"

const exitUsage = 2

const usage = `Usage: bun start [PATH]

Audits the repository at PATH, or this one, and prints the report.
`

type Choice =
  | { readonly kind: "audit"; readonly path: string }
  | { readonly kind: "help" }
  | { readonly kind: "refused"; readonly message: string }

const codeOf = (error: unknown): string =>
  error instanceof Error && "code" in error && typeof error.code === "string" ? error.code : "unknown"

const reasons: Readonly<Record<string, string>> = {
  ENOENT: "does not exist",
  ENOTDIR: "does not exist",
  EACCES: "cannot be read: permission denied",
  ELOOP: "is a symbolic link that leads nowhere",
}

/** The directory itself, whatever links lead to it. */
const directory = async (given: string): Promise<Choice> => {
  const refused = (reason: string): Choice => ({ kind: "refused", message: `${given} ${reason}` })
  try {
    const path = await realpath(resolve(given))
    if (!(await stat(path)).isDirectory()) return refused("is not a directory")
    await access(path, constants.R_OK | constants.X_OK)
    return { kind: "audit", path }
  } catch (error) {
    const code = codeOf(error)
    return refused(reasons[code] ?? `cannot be read: ${code}`)
  }
}

const here = import.meta.dir
const thisRepository = resolve(here, "../..")

const choose = (argv: readonly string[]): Promise<Choice> | Choice => {
  const [given, surplus] = argv
  if (given === undefined) return directory(thisRepository)
  if (given === "--help" || given === "-h") return { kind: "help" }
  if (surplus !== undefined) return { kind: "refused", message: `one PATH is expected, not "${surplus}" too` }
  if (given === "") return { kind: "refused", message: "PATH is empty" }
  // What looks like a flag is more likely one that does not exist than a folder; `./-x` names the folder.
  if (given.startsWith("-")) return { kind: "refused", message: `Unknown option '${given}'` }
  return directory(given)
}

const main = async (): Promise<number> => {
  const choice = await choose(process.argv.slice(2))
  switch (choice.kind) {
    case "help":
      process.stdout.write(usage)
      return 0
    case "refused":
      process.stderr.write(`bun start: ${choice.message}\n`)
      return exitUsage
    case "audit":
      return runCommand({
        verb: "dev",
        program: here,
        agent: "coordinator",
        input: "Audit the repository.",
        variables: { AUDIT_REPOSITORY: choice.path },
        unenforced: false,
        privateRanges: [],
        json: false,
      })
  }
}

process.exit(await main())
