/** Real Session processes for tests: a program is bundled, a fake supervisor listens, the host runs. */
import { mkdtemp, rm, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import type { SessionContextData, TurnData } from "@computerd/protocol/channel"
import type { Content } from "@computerd/protocol/content"
import { type Generation, idSource, type SessionId, type TurnId } from "@computerd/protocol/ids"
import { FakeSupervisor, type FakeSupervisorOptions, type Memory } from "../fakes/supervisor-channel.ts"

export const newId = idSource(() => Bun.randomUUIDv7())
export const repository = join(import.meta.dir, "../..")
export const hostMain = join(repository, "session-host/main.ts")

/** Bundles a program as publication does; `standIns` are files that take the place of packages. */
export const bundleFile = async (
  directory: string,
  entry: string,
  standIns: Readonly<Record<string, string>> = {},
): Promise<string> => {
  const modules: Readonly<Record<string, string>> = {
    "@helmr/sdk": join(repository, "sdk/index.ts"),
    ...standIns,
  }
  const built = await Bun.build({
    entrypoints: [entry],
    outdir: join(directory, "bundle"),
    naming: "index.js",
    target: "bun",
    plugins: [
      {
        name: "modules",
        setup: (build) => {
          build.onResolve({ filter: /^@/ }, ({ path }) => {
            const file = modules[path]
            return file === undefined ? undefined : { path: file }
          })
        },
      },
    ],
  })
  return built.outputs[0]!.path
}

/** Bundles `source`, which may import `@helmr/sdk`. */
export const bundle = async (directory: string, source: string): Promise<string> => {
  const entry = join(directory, "program.ts")
  await writeFile(entry, source)
  return await bundleFile(directory, entry)
}

export const contextData = (over: Partial<SessionContextData> = {}): SessionContextData => ({
  session: { id: newId("ses") },
  computer: { id: newId("cmp") },
  deployment: { id: newId("dep") },
  recovery: { kind: "initial" },
  ...over,
})

export const text = (value: string): Content => [{ type: "text", text: value }]

let sequence = 0
export const turnData = (input = "", over: Partial<TurnData> = {}): TurnData => ({
  id: newId("trn"),
  sequence: ++sequence,
  createdAt: new Date(0).toISOString(),
  input: [{ type: "text", text: input }],
  source: { kind: "client" },
  ...over,
})

export interface HostOptions {
  readonly agent?: string
  readonly main?: string
  readonly supervisor?: Partial<FakeSupervisorOptions>
  readonly secret?: string
  /** Writes the bootstrap in two pieces and more after it. */
  readonly pieces?: boolean
  /** `closed`: the reading ends of standard output and error are closed at once. */
  readonly output?: "read" | "closed"
}

export class HostProcess {
  readonly directory: string
  readonly supervisor: FakeSupervisor
  readonly secret: string
  readonly sessionId: SessionId = newId("ses")
  readonly child: Bun.Subprocess<"pipe", "pipe", "pipe">
  readonly stdout: Promise<string>
  readonly stderr: Promise<string>

  constructor(directory: string, bundlePath: string, options: HostOptions) {
    this.directory = directory
    this.secret = crypto.randomUUID()
    this.supervisor = new FakeSupervisor({ secret: options.secret ?? this.secret, ...options.supervisor })
    this.child = Bun.spawn([process.execPath, options.main ?? hostMain], {
      cwd: directory,
      stdin: "pipe",
      stdout: "pipe",
      stderr: "pipe",
      env: { PATH: "/usr/bin:/bin" },
    })
    const bootstrap = {
      channelUrl: this.supervisor.url,
      secret: this.secret,
      sessionId: this.sessionId,
      generation: 1 as Generation,
      bundlePath,
      agent: options.agent ?? "worker",
    }
    void this.#bootstrap(`${JSON.stringify(bootstrap)}\n`, options.pieces ?? false)
    if (options.output === "closed") {
      this.stdout = this.child.stdout.cancel().then(() => "")
      this.stderr = this.child.stderr.cancel().then(() => "")
    } else {
      this.stdout = new Response(this.child.stdout).text()
      this.stderr = new Response(this.child.stderr).text()
    }
  }

  async #bootstrap(line: string, pieces: boolean): Promise<void> {
    const { stdin } = this.child
    if (pieces) {
      stdin.write(line.slice(0, 40))
      await stdin.flush()
      await Bun.sleep(20)
      stdin.write(`${line.slice(40)}and more\n`)
    } else {
      stdin.write(line)
    }
    await stdin.end()
  }

  /** Sends `initialize` and waits for `ready`. */
  async ready(over: Partial<SessionContextData> = {}): Promise<this> {
    this.supervisor.send({ type: "initialize", context: contextData(over) })
    await this.supervisor.next("ready")
    return this
  }

  turn(input = "", over: Partial<TurnData> = {}): TurnId {
    const turn = turnData(input, over)
    this.supervisor.send({ type: "turn", turn })
    return turn.id
  }

  async settled(turnId: TurnId) {
    await this.supervisor.until(
      () => this.supervisor.of("turn_settled").some((body) => body.turnId === turnId),
      `settlement of ${turnId}`,
    )
    return this.supervisor.of("turn_settled").find((body) => body.turnId === turnId)!.outcome
  }

  /** Runs one Turn to its settlement. */
  run(input = "", over: Partial<TurnData> = {}) {
    return this.settled(this.turn(input, over))
  }

  async exited(): Promise<number> {
    return await within(this.child.exited, "the process to exit")
  }

  /** A new supervisor on the same port, with the old one's memory. */
  async restartSupervisor(memory: Memory = this.supervisor.memory): Promise<FakeSupervisor> {
    const { port } = this.supervisor
    await this.supervisor.close()
    return new FakeSupervisor({ secret: this.secret, port }, memory)
  }

  async end(): Promise<void> {
    this.child.kill("SIGKILL")
    await this.child.exited
    await this.supervisor.close()
    await rm(this.directory, { recursive: true, force: true })
  }
}

export const within = async <Value>(promise: Promise<Value>, what: string): Promise<Value> => {
  const { promise: late, reject } = Promise.withResolvers<never>()
  const timer = setTimeout(() => reject(new Error(`waited in vain for ${what}`)), 60_000)
  try {
    return await Promise.race([promise, late])
  } finally {
    clearTimeout(timer)
  }
}

export const temporary = (): Promise<string> => mkdtemp(join(tmpdir(), "session-host-"))

/** `body` is the inside of `agent({ id: "worker", template, … })`. */
export const program = (body: string, before = ""): string => `
import { agent, HelmrError, image, template } from "@helmr/sdk"
${before}
const computer = template({ id: "computer", image: image("computer"), resources: { cpu: 1, memory: "1GiB" } })
export const worker = agent({ id: "worker", template: computer, ${body} })
`

export const startHost = async (source: string, options: HostOptions = {}): Promise<HostProcess> => {
  const directory = await temporary()
  return new HostProcess(directory, await bundle(directory, source), options)
}
