/** A receiver on a file with as many open Sessions as asked for, and callers that are able to call. */
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { silentJournal } from "../../control-plane/journal.ts"
import { systemPorts } from "../../control-plane/ports.ts"
import { createReceiver } from "../../control-plane/receiver/create.ts"
import type { Receiver } from "../../control-plane/receiver/receiver.ts"
import { defaultSettings } from "../../control-plane/receiver/settings.ts"
import { openStore } from "../../control-plane/store/open.ts"
import { EnvironmentKey, Generation, idSource, type SessionId } from "../../protocol/ids.ts"
import type { AdmissionRequest } from "../../protocol/link.ts"
import { DeploymentManifest } from "../../protocol/manifest.ts"
import { defaultMaximum } from "../../runtime-mcp/policy/scope.ts"

const newId = idSource(() => Bun.randomUUIDv7())
const environment = EnvironmentKey.parse("default")
const scope = defaultMaximum(["lead", "helper"])

const manifest = DeploymentManifest.parse({
  version: 1,
  bundle: "a".repeat(64),
  agents: ["lead", "helper"].map((id) => ({
    id,
    template: "basic",
    runtimeMcp: scope,
    closeAfterIdleMs: null,
    hasInit: false,
  })),
  templates: [
    {
      id: "basic",
      image: { name: "basic", steps: [] },
      resources: { cpu: 1, memoryBytes: 1 << 30 },
      network: { blockAll: false },
      secrets: [],
      hasPrepare: false,
      prepareNetwork: { blockAll: true },
      prepareSecrets: [],
      preparation: "b".repeat(64),
      deleteAfterUnusedMs: null,
    },
  ],
})

export interface Caller {
  readonly sessionId: SessionId
  readonly call: (tool: string, args: AdmissionRequest["arguments"]) => Promise<unknown>
}

export interface Fleet {
  readonly receiver: Receiver
  readonly callers: readonly Caller[]
  readonly close: () => Promise<void>
}

const open = (path: string): Receiver => {
  const opened = createReceiver({
    path,
    ports: systemPorts(silentJournal),
    settings: { ...defaultSettings, leaseMs: 1_000_000_000 },
  })
  if (!opened.ok) throw new Error(opened.error.message)
  return opened.value
}

const start = (receiver: Receiver): SessionId => {
  const input = [{ type: "text" as const, text: "go" }]
  const started = receiver.startSession({
    environment,
    agent: "lead",
    input,
    idempotencyKey: crypto.randomUUID(),
  })
  if (!started.ok) throw new Error(started.error.message)
  return started.value.sessionId
}

/** Copies of a Session that is already there, with Computer and Turn of their own, in one transaction. */
const fill = (path: string, like: SessionId, count: number): void => {
  const opened = openStore(path)
  if (!opened.ok) throw new Error(opened.error.message)
  const { state, tables, transaction, close } = opened.value
  const session = state.session(like)
  const computer = session === undefined ? undefined : state.computer(session.computerId)
  const turn = state.unsettled(like, 1)[0]
  if (session === undefined || computer === undefined || turn === undefined)
    throw new Error("nothing to copy")
  transaction(() => {
    for (let made = 0; made < count; made += 1) {
      const [id, computerId, turnId] = [newId("ses"), newId("cmp"), newId("trn")]
      tables.computers.insert({ ...computer, id: computerId })
      tables.sessions.insert({
        ...session,
        id,
        computerId,
        rootId: id,
        initialTurnId: turnId,
        idleDue: Date.now() + 1e9 + made,
      })
      tables.turns.insert({ ...turn, id: turnId, sessionId: id })
      tables.turns.addInput(turnId, [{ type: "text", text: "go" }])
    }
  })
  close()
}

const connect = (receiver: Receiver, sessionId: SessionId): Caller => {
  const computerId = receiver.snapshot().sessions.find((one) => one.id === sessionId)?.computerId
  if (computerId === undefined) throw new Error("no Computer")
  const attached = receiver.attach(computerId, {
    kind: "attach",
    protocol: 1,
    computerId,
    bootId: "bench",
    storeId: newId("str"),
    lastEpoch: 0,
    received: 0,
    version: "0",
    processes: [],
  })
  if (!attached.ok) throw new Error(attached.error.message)
  const { epoch } = attached.value.lease
  const generation = Generation.parse(1)
  receiver.event(computerId, epoch, 1, 0, { type: "process_starting", sessionId, generation })
  receiver.event(computerId, epoch, 2, 0, { type: "process_ready", sessionId, generation })
  const { signal } = new AbortController()
  return {
    sessionId,
    call: async (tool, args) => {
      const answer = await receiver.admit(
        computerId,
        epoch,
        { sessionId, generation, scope, tool, arguments: args },
        signal,
      )
      if (!answer.ok) throw new Error(`${tool}: ${answer.error.code}: ${answer.error.message}`)
      return answer.value
    },
  }
}

export const createFleet = async (openSessions: number, callers: number): Promise<Fleet> => {
  const directory = mkdtempSync(join(tmpdir(), "computerd-bench-"))
  const path = join(directory, "control-plane.sqlite")
  const first = open(path)
  first.addDeployment(environment, manifest)
  const sessions = Array.from({ length: callers }, () => start(first))
  const like = start(first)
  // Callers look themselves up in the snapshot, which is only small before the store is filled.
  await first.close()
  const again = open(path)
  const computers = sessions.map((id) => again.snapshot().sessions.find((one) => one.id === id)?.computerId)
  await again.close()
  if (computers.includes(undefined)) throw new Error("no Computer")
  fill(path, like, Math.max(openSessions - callers - 1, 0))
  const receiver = open(path)
  return {
    receiver,
    callers: sessions.map((id) => connect(receiver, id)),
    close: async () => {
      await receiver.close()
      rmSync(directory, { recursive: true })
    },
  }
}
