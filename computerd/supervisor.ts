/**
 * `computerd run` by itself. Every Computer runs one, so it is built into one precompiled file that starts in half the
 * time and memory of the whole command. That form has no waiting at its top level.
 */
import { runSupervisor } from "@computerd/supervisor/main"

const [verb, ...argv] = process.argv.slice(2)
if (verb === "run") void runSupervisor(argv, process.env).then((code) => process.exit(code))
else {
  process.stderr.write("computerd: this file runs supervisors alone: run --config FILE\n")
  process.exitCode = 2
}
