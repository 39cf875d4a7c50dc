/** The public API over a real receiver on SQLite and a real listener; supervisors are those of the receiver's tests. */
import { mkdtemp, realpath, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { type ApiServer, openApiServer } from "@computerd/control-plane/api/server"
import type { ApiSettings } from "@computerd/control-plane/api/settings"
import type { JournalEvent } from "@computerd/control-plane/journal"
import { systemPorts } from "@computerd/control-plane/ports"
import { openContentStore } from "@computerd/control-plane/publication/content/store"
import type { Publish } from "@computerd/control-plane/publisher"
import { createReceiver } from "@computerd/control-plane/receiver/create"
import type { Receiver } from "@computerd/control-plane/receiver/receiver"
import { defaultSettings } from "@computerd/control-plane/receiver/settings"
import { Permission } from "@computerd/protocol/api/permissions"
import { fail } from "@computerd/protocol/errors"
import { type ApiKeyId, type DeploymentId, EnvironmentKey, SessionId, TurnId } from "@computerd/protocol/ids"
import type { AgentManifest, TemplateManifest } from "@computerd/protocol/manifest"
import { Scope } from "@computerd/protocol/scope"
import { agentOf, createSupervisor, environment, freshKey, manifestOf, text, wideMaximum } from "../rig.ts"

export const other = EnvironmentKey.parse("other")

export interface Answer {
  readonly status: number
  readonly headers: Headers
  readonly text: string
  readonly body: ReturnType<typeof JSON.parse>
}

export interface ApiClient {
  readonly keyId: ApiKeyId
  readonly key: string
  readonly get: (path: string, headers?: Record<string, string>) => Promise<Answer>
  readonly post: (path: string, body: unknown) => Promise<Answer>
  readonly delete: (path: string) => Promise<Answer>
}

interface Options {
  readonly settings?: Partial<ApiSettings>
  readonly publish?: Publish
}

const nobodyPublishes: Publish = async () => fail("internal", "nothing is published in this test")

export const answerOf = async (response: Response): Promise<Answer> => {
  const body = await response.text()
  const json = response.headers.get("content-type")?.includes("json") === true
  return {
    status: response.status,
    headers: response.headers,
    text: body,
    body: json ? JSON.parse(body) : undefined,
  }
}

export const createRig = async (options: Options = {}) => {
  const directory = await realpath(await mkdtemp(join(tmpdir(), "api-")))
  const journal: JournalEvent[] = []
  const ports = systemPorts({ record: (event) => journal.push(event) })
  const content = await openContentStore(directory, () => Bun.randomUUIDv7())
  let port = 0
  let receiver: Receiver
  let server: ApiServer

  const open = async (): Promise<void> => {
    const opened = createReceiver({ path: join(directory, "store.sqlite"), ports, settings: defaultSettings })
    if (!opened.ok) throw new Error(opened.error.message)
    receiver = opened.value
    const served = openApiServer({
      listen: { hostname: "127.0.0.1", port, behindProxy: false },
      settings: { requestsPerSecond: 100_000, ...options.settings },
      receiver,
      content,
      publish: options.publish ?? nobodyPublishes,
      ports,
    })
    if (!served.ok) throw new Error(served.error.message)
    server = served.value
    port = Number(new URL(server.url).port)
  }
  await open()

  const client = (
    permissions: readonly Permission[] = Permission.options,
    where: EnvironmentKey = environment,
  ): ApiClient => {
    const made = receiver.keys.create({ environment: where, name: "test", permissions: [...permissions] })
    if (!made.ok) throw new Error(made.error.message)
    const { secret } = made.value
    const call = async (path: string, init: RequestInit = {}): Promise<Answer> =>
      answerOf(
        await fetch(`${server.url}${path}`, {
          ...init,
          headers: { Authorization: `Bearer ${secret}`, ...init.headers },
        }),
      )
    return {
      keyId: made.value.key.id,
      key: secret,
      get: (path, headers = {}) => call(path, { headers }),
      post: (path, body) => call(path, { method: "POST", body: JSON.stringify(body) }),
      delete: (path) => call(path, { method: "DELETE" }),
    }
  }

  return {
    directory,
    journal,
    ports,
    get receiver() {
      return receiver
    },
    get url() {
      return server.url
    },
    client,
    publish: (
      agents: readonly (AgentManifest | string)[],
      templates?: readonly TemplateManifest[],
      where = environment,
    ): DeploymentId => {
      const keys = agents.map((agent) => (typeof agent === "string" ? agent : agent.id))
      const full = agents.map((agent) =>
        typeof agent === "string" ? agentOf(agent, { runtimeMcp: Scope.parse(wideMaximum(keys)) }) : agent,
      )
      return receiver.addDeployment(where, manifestOf(full, templates)).deploymentId
    },
    /** A Session from outside through the API, and the supervisor of its Computer. */
    start: async (by: ApiClient, agent = "lead", fields: Record<string, unknown> = {}) => {
      const started = await by.post("/v1/sessions", {
        agent,
        input: text("go"),
        idempotencyKey: freshKey(),
        ...fields,
      })
      if (started.status !== 201) throw new Error(started.text)
      const sessionId = SessionId.parse(started.body.sessionId)
      return { sessionId, turnId: TurnId.parse(started.body.turnId) }
    },
    /** Its Computer runs, its process is ready, its first Turn has started. */
    run: ({ sessionId, turnId }: { readonly sessionId: SessionId; readonly turnId: TurnId }) => {
      const session = receiver.snapshot().sessions.find((one) => one.id === sessionId)
      if (session === undefined) throw new Error("no such Session")
      receiver.computerState(session.computerId, "starting")
      const host = {
        ports,
        get receiver() {
          return receiver
        },
      }
      const supervisor = createSupervisor(host, session.computerId)
      supervisor.attach()
      supervisor.pull()
      supervisor.startProcess(sessionId)
      supervisor.startTurn(sessionId, turnId)
      return supervisor
    },
    /** As after `kill -9`, on the same port. */
    restart: async () => {
      await server.close()
      await receiver.close()
      await open()
    },
    close: async () => {
      await server.close()
      await receiver.close()
      await rm(directory, { recursive: true })
    },
  }
}
export type ApiRig = Awaited<ReturnType<typeof createRig>>
