/**
 * `bun session-host/describe.ts <bundle> <output file>`: loads a bundle in a process of its own and writes its
 * ProgramDescription. Publication gives this process a deadline; a program that ends it while it loads is described as
 * one that could not be loaded.
 */
import { renameSync, writeFileSync } from "node:fs"
import { resolve } from "node:path"
import type { ProgramDescription } from "@computerd/protocol/program"
import { describeProgram } from "./program/describe.ts"
import { importBundle } from "./program/load.ts"
import { messageOf } from "./turn/failure.ts"

const write = (file: string, description: ProgramDescription): void => {
  const partial = `${file}.partial`
  writeFileSync(partial, JSON.stringify(description), { mode: 0o600 })
  renameSync(partial, file)
}

const describe = async (bundle: string): Promise<ProgramDescription> => {
  const module = await importBundle(bundle)
  if (!module.ok) return { ok: false, message: module.error.message }
  try {
    return describeProgram(module.value)
  } catch (error) {
    return { ok: false, message: `A definition could not be read: ${messageOf(error)}` }
  }
}

const [bundle, file] = process.argv.slice(2)
if (bundle === undefined || file === undefined) {
  console.error("usage: bun session-host/describe.ts <bundle> <output file>")
  process.exit(2)
}

const exit = process.exit.bind(process)
const unfinished = (): void =>
  write(file, {
    ok: false,
    message: "The program ended its process while it was loading.",
  })
process.on("exit", unfinished)
const description = await describe(resolve(bundle))
process.off("exit", unfinished)
write(file, description)
// The program may have left timers and sockets behind.
exit(0)
