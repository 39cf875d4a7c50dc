/** Runs the real command in a sandbox of its own, and tells what is left of it: processes, sockets, files. */
import { mkdir, mkdtemp, readdir, readFile, readlink, realpath, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"

const repository = new URL("../../", import.meta.url).pathname
export const computerd = join(repository, "computerd/main.ts")
export const startAudit = join(repository, "examples/repository-audit/start.ts")

export interface Run {
  readonly pid: number
  readonly lines: () => readonly string[]
  /** The first line of standard error that matches, now or within the bound. */
  readonly line: (matching: RegExp) => Promise<string>
  readonly signal: (signal: NodeJS.Signals) => void
  readonly done: Promise<{ readonly exitCode: number; readonly out: string; readonly err: string }>
}

export interface Sandbox {
  /** Everything that the command makes should lie below it. */
  readonly temporary: string
  readonly run: (...command: readonly string[]) => Run
  readonly processes: () => Promise<readonly number[]>
  readonly files: () => Promise<readonly string[]>
  readonly remove: () => Promise<void>
}

/** Generous: a machine that runs everything at once is slow, and a fault is not a matter of seconds. */
export const boundMs = 60_000

const within = async <Value>(what: string, work: Promise<Value>): Promise<Value> => {
  let timer: Timer | undefined
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`${what} took more than ${boundMs} ms`)), boundMs)
  })
  try {
    return await Promise.race([work, late])
  } finally {
    clearTimeout(timer)
  }
}

/** Looks until something is so, within the bound. */
export const eventually = async <Value>(
  what: string,
  look: () => Promise<Value | undefined>,
): Promise<Value> => {
  const deadline = Date.now() + boundMs
  for (;;) {
    const seen = await look()
    if (seen !== undefined) return seen
    if (Date.now() > deadline) throw new Error(`${what} took more than ${boundMs} ms`)
    await Bun.sleep(20)
  }
}

const start = (command: readonly string[], temporary: string, home: string): Run => {
  const child = Bun.spawn([process.execPath, ...command], {
    cwd: home,
    env: { PATH: process.env["PATH"], HOME: home, TMPDIR: temporary },
    stdin: "ignore",
    stdout: "pipe",
    stderr: "pipe",
  })
  let err = ""
  const listeners = new Set<() => void>()
  const reading = (async () => {
    const decoder = new TextDecoder()
    for await (const chunk of child.stderr) {
      err += decoder.decode(chunk, { stream: true })
      for (const listener of listeners) listener()
    }
  })()
  const lines = () => err.split("\n").slice(0, -1)
  const found = (matching: RegExp) =>
    new Promise<string>((resolve, reject) => {
      const look = () => {
        const line = lines().find((one) => matching.test(one))
        if (line === undefined) return
        listeners.delete(look)
        resolve(line)
      }
      listeners.add(look)
      look()
      void reading.then(() => reject(new Error(`${matching} never came:\n${err}`)))
    })
  return {
    pid: child.pid,
    lines,
    line: (matching) => within(`a line like ${matching}`, found(matching)),
    signal: (signal) => child.kill(signal),
    done: within(
      command.join(" "),
      (async () => {
        const [out, exitCode] = await Promise.all([child.stdout.text(), child.exited, reading])
        return { exitCode, out, err }
      })(),
    ),
  }
}

const isAlive = async (pid: string): Promise<boolean> => {
  const stat = await readFile(`/proc/${pid}/stat`, "utf8").catch(() => "")
  return stat !== "" && !/^[ZX]/.test(stat.slice(stat.lastIndexOf(")") + 2))
}

/** Processes whose command line or environment names the folder. */
const processesOf = async (folder: string): Promise<readonly number[]> => {
  const pids = (await readdir("/proc")).filter((name) => /^\d+$/.test(name))
  const ours = await Promise.all(
    pids.map(async (pid) => {
      const texts = ["cmdline", "environ"].map((file) =>
        readFile(`/proc/${pid}/${file}`, "utf8").catch(() => ""),
      )
      return (await Promise.all(texts)).some((text) => text.includes(folder)) && (await isAlive(pid))
    }),
  )
  return pids.filter((_, place) => ours[place]).map(Number)
}

export const sandbox = async (): Promise<Sandbox> => {
  const root = await realpath(await mkdtemp(join(tmpdir(), "e2e-")))
  const temporary = join(root, "tmp")
  const home = join(root, "home")
  await mkdir(temporary)
  await mkdir(home)
  return {
    temporary,
    run: (...command) => start(command, temporary, home),
    processes: () => processesOf(temporary),
    files: () => readdir(temporary, { recursive: true }),
    remove: async () => {
      for (const pid of await processesOf(temporary)) process.kill(pid, "SIGKILL")
      await rm(root, { recursive: true, force: true })
    },
  }
}

/** The supervisors that run, each with the configuration that it was started with. */
export const supervisors = async (one: Sandbox) => {
  const found = await Promise.all(
    (await one.processes()).map(async (pid) => {
      const words = (await readFile(`/proc/${pid}/cmdline`, "utf8").catch(() => "")).split("\0")
      const at = words.indexOf("--config")
      if (at === -1 || words[at - 1] !== "run") return undefined
      const file = Bun.file(words[at + 1] ?? "")
      const configuration: unknown = (await file.exists())
        ? await file.json().catch(() => undefined)
        : undefined
      return configuration === undefined ? undefined : { pid, ...(configuration as Configuration) }
    }),
  )
  return found.filter((supervisor) => supervisor !== undefined)
}

interface Configuration {
  readonly computerId: string
  readonly workspace: string
  readonly stateDirectory: string
}

/** Local addresses, in the kernel's hexadecimal form, on which processes listen. */
export const listeners = async (pids: readonly number[]): Promise<readonly string[]> => {
  const tables = await Promise.all(["tcp", "tcp6"].map((name) => readFile(`/proc/net/${name}`, "utf8")))
  const listening = new Map<string, string>(
    tables
      .flatMap((table) => table.trim().split("\n").slice(1))
      .map((row) => row.trim().split(/\s+/))
      .filter((row) => row[3] === "0A")
      .map((row) => [`socket:[${row[9]}]`, row[1] ?? ""] as const),
  )
  const sockets = await Promise.all(
    pids.map(async (pid) => {
      const open = await readdir(`/proc/${pid}/fd`).catch(() => [])
      return Promise.all(open.map((fd) => readlink(`/proc/${pid}/fd/${fd}`).catch(() => "")))
    }),
  )
  return sockets.flat().flatMap((socket) => listening.get(socket) ?? [])
}
