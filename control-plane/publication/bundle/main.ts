/**
 * The bundling process. Bundling runs macros and reads configuration of the program, so it has a process of its own,
 * with a clean environment; its working directory is the program's, so that the result does not depend on where the
 * program lies. Reads one `BundleJob` from standard input and writes one `BundleAnswer` to `answer.json`.
 */
import { realpath } from "node:fs/promises"
import { join, normalize, relative } from "node:path"
import { fallbackModules } from "./fallback.ts"
import { type BundleAnswer, BundleJob, type BundleProblem } from "./job.ts"
import { renameInCode, renameInMap, type Zone } from "./sources.ts"

/** The expression that the bundler would replace with its own value. */
const nodeEnvironment = ["process", "env", "NODE_ENV"].join(".")

const problemsMax = 20
const messageMax = 400

const problem = (log: BuildMessage | ResolveMessage, directory: string): BundleProblem => ({
  message: log.message.slice(0, messageMax).replace(/\p{Cc}/gu, " "),
  file: log.position === null || log.position.file === "" ? null : relative(directory, log.position.file),
  line: log.position?.line ?? null,
  column: log.position?.column ?? null,
})

const options = (job: BundleJob): Bun.BuildConfig => ({
  entrypoints: [job.entry],
  root: job.directory,
  naming: { entry: "index.js" },
  target: "bun",
  format: "esm",
  // A map beside the code costs nothing until a stack trace is asked for; an inline one is parsed at every start.
  sourcemap: "linked",
  external: job.external.flatMap((name) => [name, `${name}/*`]),
  env: "disable",
  // Decided where the code runs, not where it is published.
  define: { [nodeEnvironment]: nodeEnvironment },
  plugins: [fallbackModules(job.fallbackNames, job.fallbackRoot)],
  throw: false,
})

const zonesOf = async ({ fallbackNames, fallbackRoot }: BundleJob): Promise<readonly Zone[]> =>
  Promise.all(
    fallbackNames.map(async (name) => ({
      name,
      directory: await realpath(join(fallbackRoot, "node_modules", name)),
    })),
  )

/** Not written by the bundler: it would name sources relative to the place of the output. */
const write = async (outputs: readonly Bun.BuildArtifact[], job: BundleJob): Promise<void> => {
  const names = { programDirectory: job.directory, zones: await zonesOf(job) }
  const at = (file: string): string => join(job.outputDirectory, file)
  const assets = outputs.filter((output) => output.kind === "asset").map((output) => normalize(output.path))
  for (const output of outputs) {
    if (output.kind === "sourcemap")
      await Bun.write(at("index.js.map"), renameInMap(await output.text(), names))
    else if (output.kind === "entry-point")
      await Bun.write(at("index.js"), renameInCode(await output.text(), names, assets))
    else await Bun.write(at(output.path), output)
  }
}

const bundle = async (job: BundleJob): Promise<BundleAnswer> => {
  const result = await Bun.build(options(job))
  if (result.success) {
    await write(result.outputs, job)
    return { ok: true }
  }
  const errors = result.logs.filter((log) => log.level === "error").slice(0, problemsMax)
  const [first, ...others] = errors.map((log) => problem(log, job.directory))
  const unknown = { message: "the bundler failed", file: null, line: null, column: null }
  return { ok: false, problems: [first ?? unknown, ...others] }
}

const job = BundleJob.parse(await Bun.stdin.json())
process.chdir(job.directory)
await Bun.write(join(job.outputDirectory, "answer.json"), JSON.stringify(await bundle(job)))
