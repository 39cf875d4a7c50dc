/**
 * The bundling process. Bundling runs macros and reads configuration of the program, so it has a process of its own,
 * with a clean environment; its working directory is the program's, so that the result does not depend on where the
 * program lies. Reads one `BundleJob` from standard input and writes one `BundleAnswer` to `answer.json`.
 */
import { join, relative } from "node:path"
import { fallbackModules } from "./fallback.ts"
import { type BundleAnswer, BundleJob, type BundleProblem } from "./job.ts"

const problemsMax = 20
const messageMax = 400

const problem = (log: BuildMessage | ResolveMessage, directory: string): BundleProblem => ({
  message: log.message.slice(0, messageMax).replace(/\p{Cc}/gu, " "),
  file: log.position === null || log.position.file === "" ? null : relative(directory, log.position.file),
  line: log.position?.line ?? null,
  column: log.position?.column ?? null,
})

const bundle = async (job: BundleJob): Promise<BundleAnswer> => {
  const result = await Bun.build({
    entrypoints: [job.entry],
    root: job.directory,
    outdir: job.outputDirectory,
    naming: { entry: "index.js" },
    target: "bun",
    format: "esm",
    // A map beside the code costs nothing until a stack trace is asked for; an inline one is parsed at every start.
    sourcemap: "linked",
    external: job.external.flatMap((name) => [name, `${name}/*`]),
    env: "disable",
    // Decided where the code runs, not where it is published.
    define: { "process.env.NODE_ENV": "process.env.NODE_ENV" },
    plugins: [fallbackModules(job.fallbackNames, job.fallbackRoot)],
    throw: false,
  })
  if (result.success) return { ok: true }
  const errors = result.logs.filter((log) => log.level === "error").slice(0, problemsMax)
  const problems = errors.map((log) => problem(log, job.directory))
  return {
    ok: false,
    problems:
      problems.length > 0
        ? problems
        : [{ message: "the bundler failed", file: null, line: null, column: null }],
  }
}

const job = BundleJob.parse(await Bun.stdin.json())
process.chdir(job.directory)
await Bun.write(join(job.outputDirectory, "answer.json"), JSON.stringify(await bundle(job)))
