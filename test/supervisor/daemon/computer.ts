/**
 * A Computer for tests: a control plane (the fake one), a state directory, and a real supervisor process that runs real
 * Session processes from the bundle in `fixtures/probe`.
 */
import { mkdir, mkdtemp, realpath, rm, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { McpConnection } from "@computerd/protocol/channel"
import type { SupervisorConfiguration } from "@computerd/protocol/configuration"
import { Digest, idSource, type SessionId, type TurnId } from "@computerd/protocol/ids"
import type { LinkEvent, SessionAssignment } from "@computerd/protocol/link"
import { operatorSocketName, type Status } from "@computerd/protocol/operator"
import { defaultMaximum } from "@computerd/runtime-mcp/policy/scope"
import { readStatus } from "@computerd/supervisor/operator/client"
import { z } from "zod"
import { FakeControlPlane, type FakeOptions } from "../../fakes/control-plane.ts"

export const newId = idSource(() => Bun.randomUUIDv7())
const root = join(import.meta.dir, "../../..")
const credential = "test-credential-2f6c"

const archiveOf = async (directory: string): Promise<Uint8Array> => {
  const archive = Bun.spawn(["tar", "-C", directory, "-cf", "-", "index.js"])
  const bytes = new Uint8Array(await new Response(archive.stdout).arrayBuffer())
  if ((await archive.exited) !== 0) throw new Error("tar failed")
  return bytes
}

const sha256 = (bytes: Uint8Array): Digest =>
  Digest.parse(new Bun.CryptoHasher("sha256").update(bytes).digest("hex"))

/** What a `connect` step of the probe program gave. */
export const Connected = z.union([
  z.object({ ok: z.literal(true), value: McpConnection }),
  z.object({ ok: z.literal(false), code: z.string(), message: z.string() }),
])
export type Connected = z.infer<typeof Connected>

/** An Agent of `fixtures/probe`. */
type ProbeAgent = "probe" | "connecting" | "patient"

export interface ComputerOptions {
  readonly fake?: Partial<FakeOptions>
  readonly config?: Partial<SupervisorConfiguration>
  /** How its supervisors are started. */
  readonly runtime?: readonly string[]
  readonly environment?: Readonly<Record<string, string>>
  /** The product as it is, unless told otherwise. */
  readonly fixture?: "supervisor.ts" | "leaping-supervisor.ts"
}

export class Computer {
  readonly #processes: Bun.Subprocess<"pipe", "ignore", "pipe">[] = []
  readonly #logs: Promise<string>[] = []
  readonly directory: string
  readonly controlPlane: FakeControlPlane
  readonly bundle: Digest
  readonly configFile: string
  readonly #options: ComputerOptions

  private constructor(
    directory: string,
    bundle: Digest,
    controlPlane: FakeControlPlane,
    options: ComputerOptions,
  ) {
    this.#options = options
    this.directory = directory
    this.controlPlane = controlPlane
    this.bundle = bundle
    this.configFile = join(directory, "config.json")
  }

  static async create(options: ComputerOptions = {}): Promise<Computer> {
    const directory = await realpath(await mkdtemp(join(tmpdir(), "computerd-")))
    const controlPlane = new FakeControlPlane({ credential, ...options.fake })
    const archive = await archiveOf(join(root, "test/fixtures/probe"))
    const bundle = sha256(archive)
    controlPlane.bundles.set(bundle, archive)
    await mkdir(join(directory, "workspace"))
    await writeFile(join(directory, "credential"), `${credential}\n`, { mode: 0o600 })
    const config = {
      computerId: newId("cmp"),
      controlPlaneUrl: controlPlane.url,
      credentialFile: join(directory, "credential"),
      stateDirectory: join(directory, "state"),
      workspace: join(directory, "workspace"),
      sessionHost: [process.execPath, join(root, "session-host/main.ts")],
      logLevel: "debug",
      ...options.config,
    }
    const computer = new Computer(directory, bundle, controlPlane, options)
    await writeFile(computer.configFile, JSON.stringify(config))
    return computer
  }

  get socketPath(): string {
    return join(this.directory, "state", operatorSocketName)
  }

  start(...flags: readonly string[]): Bun.Subprocess<"pipe", "ignore", "pipe"> {
    const { runtime = [process.execPath], environment, fixture = "supervisor.ts" } = this.#options
    const supervisor = Bun.spawn(
      [...runtime, join(root, "test/fixtures", fixture), "--config", this.configFile, ...flags],
      {
        stdin: "pipe",
        stdout: "ignore",
        stderr: "pipe",
        cwd: this.directory,
        env: { ...process.env, ...environment },
      },
    )
    this.#processes.push(supervisor)
    this.#logs.push(new Response(supervisor.stderr).text())
    return supervisor
  }

  async startAttached(...flags: readonly string[]): Promise<Bun.Subprocess<"pipe", "ignore", "pipe">> {
    const before = this.controlPlane.count("attach").length
    const supervisor = this.start(...flags)
    await this.controlPlane.until(() => this.controlPlane.count("attach").length > before, "an attach frame")
    await this.untilStatus(({ link }) => link.state === "attached")
    return supervisor
  }

  assignment(agent: ProbeAgent = "probe", part: Partial<SessionAssignment> = {}): SessionAssignment {
    const manifestAgents = ["probe", "connecting", "patient", "helper"]
    return {
      sessionId: newId("ses"),
      agent,
      deploymentId: newId("dep"),
      bundle: this.bundle,
      maximum: defaultMaximum(manifestAgents),
      manifestAgents,
      role: "root",
      generation: 0,
      recovery: { kind: "initial" },
      holds: [],
      status: "open",
      ...part,
    }
  }

  assign(agent: ProbeAgent = "probe", part: Partial<SessionAssignment> = {}): SessionId {
    const assignment = this.assignment(agent, part)
    this.controlPlane.command({ type: "assign", assignment })
    return assignment.sessionId
  }

  dispatch(
    sessionId: SessionId,
    steps: readonly ({ readonly do: string } & Record<string, unknown>)[],
  ): TurnId {
    const id = newId("trn")
    this.controlPlane.command({
      type: "dispatch",
      sessionId,
      turn: {
        id,
        sequence: 1,
        createdAt: new Date().toISOString(),
        input: [{ type: "text", text: JSON.stringify(steps) }],
        source: { kind: "client" },
      },
    })
    return id
  }

  async event<Type extends LinkEvent["type"]>(
    type: Type,
    holds: (event: Extract<LinkEvent, { type: Type }>) => boolean = () => true,
  ): Promise<Extract<LinkEvent, { type: Type }>> {
    const find = () =>
      this.controlPlane.applied
        .map(({ event }) => event)
        .find((event): event is Extract<LinkEvent, { type: Type }> =>
          event.type === type ? holds(event as Extract<LinkEvent, { type: Type }>) : false,
        )
    await this.controlPlane.until(() => find() !== undefined, `event ${type}`)
    return find()!
  }

  /** Runs one Turn of the probe program and gives what its steps gave. */
  async turn(
    sessionId: SessionId,
    steps: readonly ({ readonly do: string } & Record<string, unknown>)[],
  ): Promise<readonly unknown[]> {
    const turnId = this.dispatch(sessionId, steps)
    const { outcome } = await this.event("turn_settled", (event) => event.turnId === turnId)
    if (outcome.status !== "completed")
      throw new Error(`the Turn ${outcome.status}: ${JSON.stringify(outcome)}`)
    return z.array(z.unknown()).parse(outcome.result)
  }

  /** A file that the program writes and the test reads. */
  proofFile(): string {
    return join(this.directory, `${newId("req")}.json`)
  }

  /** What `getConnectionOptions` answered, for each policy in turn; `undefined` asks for the maximum. */
  async connect(sessionId: SessionId, ...policies: readonly unknown[]): Promise<readonly Connected[]> {
    const steps = policies.map((policy) => ({
      do: "connect",
      file: this.proofFile(),
      ...(policy === undefined ? {} : { policy }),
    }))
    await this.turn(sessionId, steps)
    return Promise.all(steps.map(async ({ file }) => Connected.parse(await Bun.file(file).json())))
  }

  async status(): Promise<Status> {
    const status = await readStatus(this.socketPath)
    if (!status.ok) throw new Error(status.error.message)
    return status.value
  }

  async untilStatus(holds: (status: Status) => boolean): Promise<Status> {
    let last: Status | undefined
    for (let tries = 0; tries < 5_000; tries += 1) {
      const status = await readStatus(this.socketPath)
      if (status.ok) last = status.value
      if (status.ok && holds(status.value)) return status.value
      await Bun.sleep(10)
    }
    throw new Error(`the status never was as expected; last: ${JSON.stringify(last)}`)
  }

  /** Moves the wall clock of a supervisor that leaps. */
  async leap(ms: number): Promise<void> {
    await writeFile(join(this.directory, "leap"), String(ms))
  }

  /** Everything that the supervisors of this Computer wrote to their standard error so far; call it after they ended. */
  async log(): Promise<string> {
    return (await Promise.all(this.#logs)).join("")
  }

  async close(): Promise<void> {
    for (const supervisor of this.#processes) supervisor.kill("SIGTERM")
    await Promise.all(this.#processes.map((supervisor) => supervisor.exited))
    await this.controlPlane.close()
    await rm(this.directory, { recursive: true, force: true })
  }
}
