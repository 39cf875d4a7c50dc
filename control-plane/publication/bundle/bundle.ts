/** Bundles a program into one `index.js`, by way of the bundling process. */
import { mkdir, rm, symlink } from "node:fs/promises"
import { dirname, join } from "node:path"
import { fail, failure, ok, type Result } from "@computerd/protocol/errors"
import type { Environment } from "../../environment.ts"
import type { Ports } from "../../ports.ts"
import type { Program } from "../program/entry.ts"
import { lastWords, runSubprocess } from "../subprocess.ts"
import { BundleAnswer, type BundleJob, type BundleProblem } from "./job.ts"

/** From the bare name of a package to the directory that holds it. */
export type FallbackModules = Readonly<Record<string, string>>

export interface BundleDeps {
  readonly ports: Pick<Ports, "after">
  readonly environment: Environment
  readonly fallbackModules: FallbackModules
  readonly signal?: AbortSignal | undefined
}

const bundleTimeoutMs = 120_000
/** What a program lacks is an error; it is never fetched from a registry. */
const command: readonly string[] = [process.execPath, "--no-install", join(import.meta.dir, "main.ts")]

/** A `node_modules` made of links, so that subpaths and export maps of the fallbacks resolve as usual. */
const linkFallbacks = async (modules: FallbackModules, root: string): Promise<void> => {
  for (const [name, directory] of Object.entries(modules)) {
    const link = join(root, "node_modules", name)
    await mkdir(dirname(link), { recursive: true, mode: 0o700 })
    await symlink(directory, link)
  }
}

const place = (problem: BundleProblem): string =>
  problem.file === null
    ? ""
    : `${problem.file}${problem.line === null ? "" : `:${problem.line}:${problem.column ?? 1}`}: `

const refuse = (problems: readonly BundleProblem[]): ReturnType<typeof fail> => {
  const [first, ...others] = problems
  if (first === undefined) return fail("bundle_failed", "the program does not bundle")
  const more = others.length === 0 ? "" : ` (and ${others.length} more)`
  const error = failure("bundle_failed", `${place(first)}${first.message}${more}`, first.file ?? undefined)
  return { ok: false, error }
}

const readAnswer = async (file: string): Promise<BundleAnswer | undefined> => {
  try {
    return BundleAnswer.parse(await Bun.file(file).json())
  } catch {
    return undefined
  }
}

/** Leaves `index.js` and its source map in `output`. */
export const bundleProgram = async (
  program: Program,
  output: string,
  deps: BundleDeps,
): Promise<Result<void>> => {
  const fallbackRoot = `${output}.fallback`
  await linkFallbacks(deps.fallbackModules, fallbackRoot)
  const job: BundleJob = {
    directory: program.directory,
    entry: program.entry,
    external: [...program.external],
    fallbackRoot,
    fallbackNames: Object.keys(deps.fallbackModules),
    outputDirectory: output,
  }
  const outcome = await runSubprocess(
    {
      command,
      cwd: "/",
      environment: deps.environment,
      timeoutMs: bundleTimeoutMs,
      input: JSON.stringify(job),
      signal: deps.signal,
    },
    deps.ports,
  )
  const answerFile = join(output, "answer.json")
  const answer = await readAnswer(answerFile)
  await rm(answerFile, { force: true })
  if (answer?.ok === true && outcome.kind === "exited" && outcome.code === 0) return ok(undefined)
  if (answer?.ok === false) return refuse(answer.problems)
  switch (outcome.kind) {
    case "exited":
      return fail(
        "bundle_failed",
        `the bundler exited with code ${outcome.code}: ${lastWords(outcome.stderr)}`,
      )
    case "signalled":
      return fail("bundle_failed", `the bundler was ended by ${outcome.signal}`)
    case "timeout":
      return fail("bundle_failed", `the program did not bundle within ${bundleTimeoutMs / 1000} s`)
    case "not_started":
      return fail("bundle_failed", `the bundler cannot be started: ${outcome.message}`)
  }
}
