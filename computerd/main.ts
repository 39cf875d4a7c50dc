/** `computerd`: reads its arguments, does what they ask for and exits with a code that says how it went. */
import { readCommand } from "./arguments/command.ts"
import { runCommand } from "./execute.ts"
import { exitUsage } from "./exit-codes.ts"

const main = async (): Promise<number> => {
  const argv = process.argv.slice(2)
  const command = readCommand(argv, { cwd: process.cwd() })
  if (command.ok) return runCommand(command.value)
  process.stderr.write(
    `computerd: ${command.error.message}\nTry computerd ${argv[0] === "fleet" ? "fleet " : ""}--help\n`,
  )
  return exitUsage
}

process.exit(await main())
