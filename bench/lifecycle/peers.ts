/**
 * Supervisors of processes that others made, each with one service that is started again when it dies. Those that are
 * not on the PATH are left out, and said to be.
 */
import { chmod, mkdir } from "node:fs/promises"
import { join } from "node:path"

export interface Peer {
  readonly name: string
  /** Starts it in the directory, with this command as its one service. */
  readonly start: (directory: string, command: readonly string[]) => Promise<Bun.Subprocess>
}

const quoted = (command: readonly string[]): string => command.map((word) => `'${word}'`).join(" ")

const spawn = (command: readonly string[], env: Record<string, string> = {}): Bun.Subprocess =>
  Bun.spawn([...command], { env: { ...process.env, ...env }, stdio: ["ignore", "ignore", "ignore"] })

const withRunScript =
  (supervisor: string): Peer["start"] =>
  async (directory, command) => {
    const run = join(directory, "run")
    await Bun.write(run, `#!/bin/sh\nexec ${quoted(command)}\n`)
    await chmod(run, 0o755)
    return spawn([supervisor, directory])
  }

const supervisord: Peer["start"] = async (directory, command) => {
  const configuration = join(directory, "supervisord.conf")
  const text = [
    "[supervisord]",
    "nodaemon=true",
    `logfile=${join(directory, "log")}`,
    `pidfile=${join(directory, "pid")}`,
    "[program:stand-in]",
    `command=${command.join(" ")}`,
    "autorestart=true",
  ]
  await Bun.write(configuration, text.join("\n"))
  return spawn(["supervisord", "-c", configuration])
}

const pm2: Peer["start"] = async (directory, [script, ...args]) => {
  const configuration = join(directory, "ecosystem.config.json")
  const app = { name: "stand-in", script, args, interpreter: "none", max_restarts: 1_000_000 }
  await Bun.write(configuration, JSON.stringify({ apps: [app] }))
  return spawn(["pm2-runtime", "start", configuration], { PM2_HOME: join(directory, "home") })
}

const all: readonly (Peer & { readonly needs: string })[] = [
  { name: "runit", needs: "runsv", start: withRunScript("runsv") },
  { name: "s6", needs: "s6-supervise", start: withRunScript("s6-supervise") },
  { name: "supervisord", needs: "supervisord", start: supervisord },
  { name: "pm2", needs: "pm2-runtime", start: pm2 },
]

export const installedPeers = (): readonly Peer[] =>
  all.filter(({ name, needs }) => {
    const isThere = Bun.which(needs) !== null
    if (!isThere) console.log(`${name} is left out: ${needs} is not installed`)
    return isThere
  })

export const folderFor = async (root: string, { name }: Peer): Promise<string> => {
  const directory = join(root, name)
  await mkdir(directory)
  return directory
}
