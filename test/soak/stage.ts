/** What the soak runs on: a control plane in a process of its own, built as the command builds it, over a fresh folder. */
import { chmod, mkdir } from "node:fs/promises"
import { join } from "node:path"
import { baseEnvironment } from "@computerd/control-plane/environment"
import { type OperatorClient, operatorClient } from "@computerd/control-plane/http/client"
import type { SnapshotAnswer } from "@computerd/control-plane/http/messages"
import type { Result } from "@computerd/protocol/errors"
import type { ComputerId, SessionId } from "@computerd/protocol/ids"
import { buildSessionHost } from "@computerd/session-host/build"
import { createRig, type Rig } from "../control-plane/drivers/rig.ts"
import { bun } from "../control-plane/publication/rig.ts"

export interface Stage {
  readonly rig: Rig
  /** Where every process of the soak puts its temporary files. */
  readonly temporary: string
  readonly controlPlane: number
  readonly client: OperatorClient
  readonly snapshot: () => Promise<SnapshotAnswer>
  readonly supervisorOf: (id: ComputerId) => Promise<number>
  /** The exit code of the control plane; every Computer ends with it. */
  readonly stop: () => Promise<number>
}

const soak = import.meta.dir

const build = async (directory: string): Promise<string> => {
  const built = await Bun.build({
    entrypoints: [join(soak, "supervisor.ts")],
    outdir: directory,
    target: "bun",
    format: "cjs",
    bytecode: true,
    minify: { whitespace: true, syntax: true },
  })
  const entry = built.outputs.find(({ kind }) => kind === "entry-point")
  if (entry === undefined) throw new Error("the supervisor could not be built")
  return entry.path
}

export const unwrap = <Value>(result: Result<Value>): Value => {
  if (!result.ok) throw new Error(`${result.error.code}: ${result.error.message}`)
  return result.value
}

const spawnControlPlane = async (rig: Rig, temporary: string) => {
  const programs = join(rig.root, "programs")
  const { journal: _, ...options } = rig.options({
    supervisorCommand: [...bun, await build(programs)],
    sessionHostCommand: [...bun, await buildSessionHost(programs)],
    environment: { ...baseEnvironment(process.env), TMPDIR: temporary },
  })
  const child = Bun.spawn([...bun, join(soak, "control-plane.ts"), JSON.stringify(options)], {
    env: { ...process.env, TMPDIR: temporary },
    stdio: ["ignore", "pipe", "inherit"],
  })
  const reader = child.stdout.getReader()
  const { value } = await reader.read()
  reader.releaseLock()
  const said: { ready?: string; message?: string } = JSON.parse(new TextDecoder().decode(value))
  if (said.ready === undefined) throw new Error(said.message)
  return child
}

export const createStage = async (): Promise<Stage> => {
  const rig = await createRig()
  const temporary = join(rig.root, "tmp")
  await mkdir(temporary)
  await chmod(temporary, 0o700)
  const child = await spawnControlPlane(rig, temporary)
  const client = operatorClient(rig.stateDirectory)
  unwrap(await client.publish({ directory: join(soak, "program") }))
  return {
    rig,
    temporary,
    controlPlane: child.pid,
    client,
    snapshot: async () => unwrap(await client.snapshot()),
    supervisorOf: (id) => rig.supervisorPid(id),
    stop: () => {
      child.kill("SIGTERM")
      return child.exited
    },
  }
}

export const sessionIn = async (stage: Stage, id: SessionId) => {
  const found = (await stage.snapshot()).sessions.find((session) => session.id === id)
  if (found === undefined) throw new Error(`no Session ${id}`)
  return found
}
