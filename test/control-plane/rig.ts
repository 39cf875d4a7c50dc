/**
 * A receiver on real SQLite with a clock, timers and ids in the test's hands, and supervisors that speak to it as the
 * link server would: they stand for `supervisor/` behind `control-plane/link/`.
 */
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import type { Journal, JournalEvent } from "@computerd/control-plane/journal"
import type { Ports } from "@computerd/control-plane/ports"
import { createReceiver } from "@computerd/control-plane/receiver/create"
import type { Receiver } from "@computerd/control-plane/receiver/receiver"
import { defaultSettings } from "@computerd/control-plane/receiver/settings"
import type { Settings } from "@computerd/control-plane/rules/given"
import type { Json } from "@computerd/protocol/content"
import type { ComputerId, DeploymentId, SessionId, StoreId, TurnId } from "@computerd/protocol/ids"
import { DefinitionKey, Digest, EnvironmentKey, Epoch, Generation, idSource } from "@computerd/protocol/ids"
import type { AdmissionAnswer, LinkCommand, LinkEvent } from "@computerd/protocol/link"
import type { AgentManifest, DeploymentManifest, TemplateManifest } from "@computerd/protocol/manifest"
import { Scope } from "@computerd/protocol/scope"
import { defaultMaximum } from "@computerd/runtime-mcp/policy/scope"

export const environment = EnvironmentKey.parse("default")
export const text = (value: string) => [{ type: "text" as const, text: value }]

/** UUIDv7s that count, so that order of creation is order of ids. */
export const countingIds = () => {
  let count = 0
  return idSource(() => {
    count += 1
    const tail = count.toString(16).padStart(12, "0")
    return `01900000-0000-7000-8000-${tail}`
  })
}

interface Timer {
  readonly at: number
  readonly run: () => void
}

/** Timers fire when the test moves the clock, in order of their time. */
const manualPorts = (start = 1_700_000_000_000) => {
  let now = start
  let leaptMs = 0
  const timers = new Set<Timer>()
  const journal: JournalEvent[] = []
  const record: Journal["record"] = (event) => {
    journal.push(event)
  }
  const ports: Ports = {
    now: () => now + leaptMs,
    runningMs: () => now,
    newId: countingIds(),
    randomBytes: (count) => new Uint8Array(count).fill(7),
    after: (delayMs, run) => {
      const timer = { at: now + delayMs, run }
      timers.add(timer)
      return () => timers.delete(timer)
    },
    soon: (run) => queueMicrotask(run),
    journal: { record },
    reach: () => undefined,
  }
  const advance = (ms: number): void => {
    const end = now + ms
    for (;;) {
      const due = [...timers].filter((timer) => timer.at <= end).sort((a, b) => a.at - b.at)[0]
      if (due === undefined) break
      timers.delete(due)
      now = Math.max(now, due.at)
      due.run()
    }
    now = end
  }
  /** Moves the wall clock alone. */
  const leap = (ms: number): void => {
    leaptMs += ms
  }
  return { ports, advance, leap, journal, timers: () => timers.size }
}

export const agentOf = (id: string, changes: Partial<AgentManifest> = {}): AgentManifest => ({
  id: DefinitionKey.parse(id),
  template: DefinitionKey.parse("basic"),
  runtimeMcp: { kind: "finite", allow: [] },
  closeAfterIdleMs: null,
  hasInit: false,
  ...changes,
})

export const templateOf = (id: string, changes: Partial<TemplateManifest> = {}): TemplateManifest => ({
  id: DefinitionKey.parse(id),
  image: { name: id, steps: [] },
  resources: { cpu: 1, memoryBytes: 1 << 30 },
  network: { blockAll: false },
  secrets: [],
  hasPrepare: false,
  prepareNetwork: { blockAll: true },
  prepareSecrets: [],
  preparation: Digest.parse("b".repeat(64)),
  deleteAfterUnusedMs: null,
  ...changes,
})

/** Agents without a maximum of their own get everything on every Agent, with both placements. */
export const wideMaximum = (agents: readonly string[]): Scope => {
  const base = defaultMaximum(agents)
  if (base.kind === "unrestricted") return base
  const shared = base.allow.flatMap((rule) =>
    rule.operation === "spawn" || rule.operation === "start"
      ? [{ ...rule, computer: "caller" as const }]
      : [],
  )
  const [first, second, ...others] = base.allow
  return { kind: "finite", allow: [shared[0]!, first!, shared[1]!, second!, ...others] }
}

export const manifestOf = (
  agents: readonly AgentManifest[],
  templates: readonly TemplateManifest[] = [templateOf("basic")],
): DeploymentManifest => ({
  version: 1,
  bundle: Digest.parse("a".repeat(64)),
  agents: [...agents],
  templates: [...templates],
})

export interface RigOptions {
  readonly settings?: Partial<Settings>
  readonly path?: string
}

export const createRig = (options: RigOptions = {}) => {
  const directory =
    options.path === undefined ? mkdtempSync(join(tmpdir(), "computerd-receiver-")) : undefined
  const path = options.path ?? join(directory ?? "", "control-plane.sqlite")
  const manual = manualPorts()
  const settings: Settings = { ...defaultSettings, ...options.settings }
  const open = (): Receiver => {
    const opened = createReceiver({ path, ports: manual.ports, settings })
    if (!opened.ok) throw new Error(opened.error.message)
    return opened.value
  }
  let receiver = open()
  return {
    ...manual,
    path,
    get receiver() {
      return receiver
    },
    /** As after `kill -9`: the next receiver finds only what is in the file. */
    restart: async () => {
      await receiver.close()
      receiver = open()
    },
    publish: (
      agents: readonly (AgentManifest | string)[],
      templates?: readonly TemplateManifest[],
    ): DeploymentId => {
      const keys = agents.map((agent) => (typeof agent === "string" ? agent : agent.id))
      const full = agents.map((agent) =>
        typeof agent === "string" ? agentOf(agent, { runtimeMcp: Scope.parse(wideMaximum(keys)) }) : agent,
      )
      return receiver.addDeployment(environment, manifestOf(full, templates)).deploymentId
    },
    close: async () => {
      await receiver.close()
      if (directory !== undefined) rmSync(directory, { recursive: true })
    },
  }
}

export type Rig = ReturnType<typeof createRig>

let keys = 0
export const freshKey = (): string => {
  keys += 1
  return `key-${keys}`
}

/** One supervisor of one Computer. */
export const createSupervisor = (rig: Pick<Rig, "receiver" | "ports">, computerId: ComputerId) => {
  const storeId: StoreId = rig.ports.newId("str")
  let epoch = 0
  let seq = 0
  let received = 0
  const commands: LinkCommand[] = []
  const generations = new Map<SessionId, number>()

  const attach = (processes: Parameters<Receiver["attach"]>[1]["processes"] = []) => {
    const attached = rig.receiver.attach(computerId, {
      kind: "attach",
      protocol: 1,
      computerId,
      bootId: "boot",
      storeId,
      lastEpoch: epoch,
      received,
      version: "0",
      processes,
    })
    if (!attached.ok) return attached
    epoch = attached.value.lease.epoch
    received = attached.value.commandSeq
    return attached
  }

  const emit = (event: LinkEvent) => {
    seq += 1
    return rig.receiver.event(computerId, Epoch.parse(epoch), seq, rig.ports.now(), event)
  }

  const pull = (): readonly LinkCommand[] => {
    const fresh = rig.receiver.commandsAfter(computerId, received)
    for (const command of fresh) received = command.seq
    rig.receiver.acknowledge(computerId, received)
    commands.push(...fresh.map((command) => command.body))
    return fresh.map((command) => command.body)
  }

  const generation = (sessionId: SessionId) => Generation.parse(generations.get(sessionId) ?? 1)

  const startProcess = (sessionId: SessionId): void => {
    generations.set(sessionId, (generations.get(sessionId) ?? 0) + 1)
    emit({ type: "process_starting", sessionId, generation: generation(sessionId) })
    emit({ type: "process_ready", sessionId, generation: generation(sessionId) })
  }

  const startTurn = (sessionId: SessionId, turnId: TurnId) =>
    emit({ type: "turn_started", sessionId, generation: generation(sessionId), turnId })

  return {
    computerId,
    attach,
    emit,
    pull,
    commands,
    generation,
    startProcess,
    startTurn,
    epoch: () => Epoch.parse(epoch),
    settle: (sessionId: SessionId, turnId: TurnId, result: Json = null) =>
      emit({
        type: "turn_settled",
        sessionId,
        generation: generation(sessionId),
        turnId,
        outcome: { status: "completed", result },
      }),
    call: (
      sessionId: SessionId,
      tool: string,
      args: { readonly [field: string]: Json },
      scope?: Scope,
    ): Promise<AdmissionAnswer> => {
      const session = rig.receiver.snapshot().sessions.find((one) => one.id === sessionId)
      const manifest = session === undefined ? undefined : rig.receiver.deployment(session.deploymentId)
      const maximum = manifest?.agents.find((agent) => agent.id === session?.agent)?.runtimeMcp
      return rig.receiver.admit(
        computerId,
        Epoch.parse(epoch),
        {
          sessionId,
          generation: generation(sessionId),
          scope: scope ?? maximum ?? { kind: "finite", allow: [] },
          tool,
          arguments: args,
        },
        new AbortController().signal,
      )
    },
  }
}

export type Supervisor = ReturnType<typeof createSupervisor>

/** A Session from outside, on a running Computer, with its process ready and its first Turn running. */
export const startRoot = (rig: Rig, agent: string, running = true) => {
  const started = rig.receiver.startSession({
    environment,
    agent,
    input: text("go"),
    idempotencyKey: freshKey(),
  })
  if (!started.ok) throw new Error(started.error.message)
  const { sessionId, turnId } = started.value
  const supervisor = bootComputerOf(rig, sessionId)
  supervisor.startProcess(sessionId)
  if (running) supervisor.startTurn(sessionId, turnId)
  return { sessionId, turnId, supervisor }
}

export const computerOf = (rig: Rig, sessionId: SessionId): ComputerId => {
  const session = rig.receiver.snapshot().sessions.find((one) => one.id === sessionId)
  if (session === undefined) throw new Error(`no Session ${sessionId}`)
  return session.computerId
}

export const bootComputerOf = (rig: Rig, sessionId: SessionId): Supervisor => {
  const computerId = computerOf(rig, sessionId)
  rig.receiver.computerState(computerId, "starting")
  const supervisor = createSupervisor(rig, computerId)
  const attached = supervisor.attach()
  if (!attached.ok) throw new Error(attached.error.message)
  supervisor.pull()
  return supervisor
}

/** The answer of an admitted call, or an error that shows the refusal. */
export const value = (answer: AdmissionAnswer): { readonly [field: string]: Json } => {
  if (!answer.ok) throw new Error(`${answer.error.code}: ${answer.error.message}`)
  return answer.value
}

export const code = (answer: AdmissionAnswer): string => (answer.ok ? "ok" : answer.error.code)
