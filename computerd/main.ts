/** `computerd`: reads its arguments, does what they ask for and exits with a code that says how it went. */
import { readCommand } from "./arguments/command.ts"
import { runCommand } from "./execute.ts"

const exitUsage = 2

const main = async (): Promise<number> => {
  const command = readCommand(process.argv.slice(2), { cwd: process.cwd() })
  if (command.ok) return runCommand(command.value)
  process.stderr.write(`computerd: ${command.error.message}\nTry computerd --help\n`)
  return exitUsage
}

process.exit(await main())
