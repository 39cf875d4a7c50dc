/** The control plane of a world: a process that is killed, frozen and started again, and that operators ask. */
import { join } from "node:path"
import { baseEnvironment } from "@computerd/control-plane/environment"
import { type OperatorClient, operatorClient } from "@computerd/control-plane/http/client"
import type { FleetSnapshot } from "@computerd/control-plane/receiver/fleet"
import type { OperatorControl } from "@computerd/control-plane/rules/operator"
import { bun, describeCommand, fallbackModules, repository } from "../../control-plane/publication/rig.ts"

/** The public API of the one that runs now, and a key for it. */
interface Api {
  readonly url: string
  readonly key: string
}

export interface Plane {
  readonly client: OperatorClient
  readonly api: () => Api
  readonly url: () => string
  readonly pid: () => number
  /** Says whether it was accepted; it was not while no control plane runs. */
  readonly control: (request: OperatorControl) => Promise<boolean>
  /** Nothing while no control plane runs. */
  readonly snapshot: () => Promise<FleetSnapshot | undefined>
  /** How often one died and was started again. */
  readonly restarts: () => number
  /** Ends it in order; its exit code. */
  readonly stop: () => Promise<number>
}

export interface PlaneOptions {
  readonly directory: string
  readonly log: number
  readonly settings: object
}

const script = join(repository, "test/fixtures/faults/control-plane.ts")
const stopMaxMs = 60_000

type Answer = FleetSnapshot | { readonly ok: boolean }
type Said = { readonly ready?: string; readonly api?: Api; readonly id?: number; readonly answer?: Answer }

const optionsOf = ({ directory, settings }: PlaneOptions) => ({
  directory,
  stateDirectory: join(directory, "state"),
  listen: { hostname: "127.0.0.1", port: 0 },
  supervisorCommand: [...bun, join(directory, "programs/supervisor.js"), directory],
  sessionHostCommand: [...bun, join(directory, "programs/session-host.js")],
  describeCommand,
  local: { lifeline: false },
  fallbackModules,
  unenforced: false,
  environment: baseEnvironment({ ...process.env, TMPDIR: join(directory, "tmp") }),
  settings,
})

const start = (options: PlaneOptions) =>
  Bun.spawn([...bun, script, JSON.stringify(optionsOf(options))], {
    cwd: options.directory,
    env: { ...baseEnvironment(process.env), TMPDIR: join(options.directory, "tmp") },
    stdin: "pipe",
    stdout: "pipe",
    stderr: options.log,
  })
type Child = ReturnType<typeof start>

/** Lines of a child, until it ends. */
const hear = async (child: Child, said: (message: Said) => void): Promise<void> => {
  let rest = ""
  for await (const chunk of child.stdout.pipeThrough(new TextDecoderStream())) {
    const lines = (rest + chunk).split("\n")
    rest = lines.pop() ?? ""
    for (const line of lines) said(JSON.parse(line))
  }
}

export const openPlane = async (options: PlaneOptions): Promise<Plane> => {
  const waiting = new Map<number, (answer: Answer | undefined) => void>()
  let child: Child
  let url = ""
  let api: Api = { url: "", key: "" }
  let restarts = -1
  let questions = 0
  let phase: "running" | "stopping" = "running"

  const live = async (ready: () => void): Promise<void> => {
    while (phase === "running") {
      restarts += 1
      const current = start(options)
      child = current
      await hear(current, (message) => {
        if (message.ready !== undefined) {
          url = message.ready
          if (message.api !== undefined) api = message.api
          ready()
        } else if (message.id !== undefined && message.answer !== undefined) {
          waiting.get(message.id)?.(message.answer)
          waiting.delete(message.id)
        }
      })
      await current.exited
      for (const settle of waiting.values()) settle(undefined)
      waiting.clear()
    }
  }

  const ask = (question: { readonly control?: OperatorControl }): Promise<Answer | undefined> => {
    const { promise, resolve: settle } = Promise.withResolvers<Answer | undefined>()
    questions += 1
    waiting.set(questions, settle)
    try {
      child.stdin.write(`${JSON.stringify({ id: questions, ...question })}\n`)
      void child.stdin.flush()
    } catch {
      settle(undefined)
    }
    return promise
  }

  const { promise: ready, resolve } = Promise.withResolvers<void>()
  void live(resolve)
  await ready

  return {
    client: operatorClient(join(options.directory, "state")),
    api: () => api,
    url: () => url,
    pid: () => child.pid,
    restarts: () => restarts,
    control: async (control) => {
      const answer = await ask({ control })
      return answer !== undefined && "ok" in answer && answer.ok
    },
    snapshot: async () => {
      const answer = await ask({})
      return answer !== undefined && "sessions" in answer ? answer : undefined
    },
    stop: async () => {
      phase = "stopping"
      const current = child
      current.kill("SIGTERM")
      const timer = setTimeout(() => current.kill("SIGKILL"), stopMaxMs)
      const code = await current.exited
      clearTimeout(timer)
      return code
    },
  }
}
