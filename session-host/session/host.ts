/**
 * The life of one Session process:
 *
 *   greeting ──initialize──▶ starting ──ready──▶ serving ──shutdown──▶ ending
 *       └───────────────────────┴──────shutdown or failure───────────────▶ ending
 *
 * H1 `init` runs once; Turns run strictly one at a time, in the order of their arrival
 * H2 once shutdown has begun, no request of the program is taken and no Turn begins
 * H3 the process ends once, with a code of `exit.ts`; its last frames get a bounded time to arrive
 */
import type {
  ChannelDown,
  ChannelUp,
  SessionBootstrap,
  SessionContextData,
  TurnData,
} from "@computerd/protocol/channel"
import type { Failure, Result } from "@computerd/protocol/errors"
import type { AgentContext } from "@helmr/sdk"
import { HelmrError } from "@helmr/sdk/error"
import { Channel, type ChannelEnd } from "../channel/channel.ts"
import type { ChannelTiming } from "../channel/timing.ts"
import type { Ports } from "../ports.ts"
import { findAgent, importBundle, type LoadedAgent } from "../program/load.ts"
import { fail, failure, messageOf } from "../turn/failure.ts"
import { createOutput } from "../turn/output.ts"
import { TurnRun } from "../turn/run.ts"
import { createAsking } from "./asking.ts"
import { initContext } from "./context.ts"
import { exitCodes, lastFramesMs } from "./exit.ts"
import type { Stray } from "./stray.ts"
import { createTurns } from "./turns.ts"

export interface HostDeps {
  readonly bootstrap: SessionBootstrap
  readonly ports: Ports
  readonly timing: ChannelTiming
  readonly stray: Stray
  readonly exit: (code: number) => void
}

type Phase =
  | { readonly kind: "greeting" }
  | { readonly kind: "starting"; readonly started: Promise<void> }
  | { readonly kind: "serving" }
  | { readonly kind: "ending" }

const shutdownFailure = failure(
  "session_shutdown",
  "This Session process is ending; ask again from the next one.",
)

/** Dials at once and lives until it calls `exit`. */
export const runHost = (deps: HostDeps): void => {
  const { bootstrap, ports, stray } = deps
  const ending = new AbortController()
  let phase: Phase = { kind: "greeting" }
  let isChild = false
  let loading: Promise<Result<LoadedAgent>> | undefined

  const send = (body: ChannelUp): number | undefined => channel.send(body)
  const output = createOutput(send)
  const asking = createAsking({ ports, send, isChild: () => isChild })
  const turns = createTurns(send)

  const apply = (body: ChannelDown): void => {
    switch (body.type) {
      case "initialize":
        initialize(body.context)
        return
      case "turn":
        turns.arrive(createTurn(body.turn))
        return
      case "cancel_turn":
        turns.stop(body.turnId, body.status)
        return
      case "message":
        turns.deliver(body.turnId, { id: body.messageId, content: body.content })
        return
      case "mcp_connection_result":
        asking.connected(body)
        return
      case "ask_result":
        asking.answered(body)
        return
      case "shutdown":
        void shutdown(body.graceMs)
        return
      default:
        body satisfies never
    }
  }

  const createTurn = (data: TurnData): TurnRun =>
    new TurnRun({ data, send, output, stray, ask: asking.ask, unask: asking.unask })

  const initialize = (data: SessionContextData): void => {
    if (phase.kind !== "greeting") {
      ports.log("initialize came again and is ignored")
      return
    }
    isChild = data.session.parent !== undefined
    phase = { kind: "starting", started: start(data) }
  }

  /** H1. Never rejects. */
  const start = async (data: SessionContextData): Promise<void> => {
    const loaded = await load()
    if (!loaded.ok) return await giveUp("load", loaded.error)
    const prepared = await prepare(loaded.value, data)
    if (!prepared.ok) return await giveUp("init", prepared.error)
    if (hasBegunToEnd()) return
    phase = { kind: "serving" }
    send({ type: "ready" })
    turns.serve((turn) => loaded.value.turn(turn, prepared.value))
  }

  /** Once. Begins while the greeting is on its way, since both take as long; awaited when `initialize` has come. */
  const load = (): Promise<Result<LoadedAgent>> => {
    loading ??= loadAgent(bootstrap)
    return loading
  }

  const hasBegunToEnd = (): boolean => phase.kind === "ending"

  const prepare = async (
    agent: LoadedAgent,
    data: SessionContextData,
  ): Promise<Result<AgentContext<unknown>>> => {
    const context = initContext(data, ending.signal, asking.connect)
    try {
      const initResult = await agent.init?.(context)
      return { ok: true, value: Object.freeze({ ...context, initResult }) }
    } catch (error) {
      stray("init", error)
      return fail("handler_failed", messageOf(error))
    }
  }

  const giveUp = async (at: "load" | "init", error: Failure): Promise<void> => {
    if (hasBegunToEnd()) return
    phase = { kind: "ending" }
    asking.close(shutdownFailure)
    send({ type: "failed", phase: at, error })
    await leave(exitCodes.failed)
  }

  /** H2, then what runs is given its time. */
  const shutdown = async (graceMs: number): Promise<void> => {
    if (phase.kind === "ending") return
    const started = phase.kind === "starting" ? phase.started : undefined
    phase = { kind: "ending" }
    asking.close(shutdownFailure)
    ending.abort(new HelmrError(shutdownFailure))
    await Promise.race([Promise.all([started, turns.end()]), ports.sleep(graceMs)])
    await leave(exitCodes.shutdown)
  }

  /** H3 */
  const leave = async (code: number): Promise<void> => {
    await channel.flush(lastFramesMs)
    channel.close()
    deps.exit(code)
  }

  const ended = (end: ChannelEnd): void => {
    switch (end.kind) {
      case "closed":
        return
      case "rejected":
        ports.log(`the supervisor refused this process: ${end.error.code}: ${end.error.message}`)
        deps.exit(exitCodes.rejected)
        return
      case "orphaned":
        ports.log(`no supervisor was heard for ${end.afterMs} ms; ending`)
        deps.exit(exitCodes.orphaned)
        return
      case "broken":
        ports.log(`the channel cannot go on: ${end.message}`)
        deps.exit(exitCodes.broken)
        return
      default:
        end satisfies never
    }
  }

  const channel = new Channel({
    bootstrap,
    ports,
    timing: deps.timing,
    opened: () => void load(),
    apply,
    acknowledged: output.acknowledged,
    ended,
  })
}

const loadAgent = async ({ bundlePath, agent }: SessionBootstrap): Promise<Result<LoadedAgent>> => {
  const module = await importBundle(bundlePath)
  return module.ok ? findAgent(module.value, agent) : module
}
