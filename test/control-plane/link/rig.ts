/** The link server over a real receiver on SQLite; supervisors are fakes on raw sockets. */
import { mkdtemp, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import type { JournalEvent } from "@computerd/control-plane/journal"
import { type LinkServer, serveLink } from "@computerd/control-plane/link/server"
import { systemPorts } from "@computerd/control-plane/ports"
import { openContentStore } from "@computerd/control-plane/publication/content/store"
import { createReceiver } from "@computerd/control-plane/receiver/create"
import { defaultSettings } from "@computerd/control-plane/receiver/settings"
import type { ComputerId, SessionId, StoreId, TurnId } from "@computerd/protocol/ids"
import { Scope } from "@computerd/protocol/scope"
import { SupervisorLink } from "../../fakes/supervisor-link.ts"
import { agentOf, environment, freshKey, manifestOf, text, wideMaximum } from "../rig.ts"

export const createRig = async () => {
  const directory = await mkdtemp(join(tmpdir(), "link-"))
  const journal: JournalEvent[] = []
  const listeners = new Set<() => void>()
  const ports = systemPorts({
    record: (event) => {
      journal.push(event)
      for (const listener of listeners) listener()
    },
  })
  const opened = createReceiver({ path: join(directory, "store.sqlite"), ports, settings: defaultSettings })
  if (!opened.ok) throw new Error(opened.error.message)
  const receiver = opened.value
  const content = await openContentStore(directory, () => Bun.randomUUIDv7())
  const attached: ComputerId[] = []
  const served = serveLink({
    receiver,
    ports,
    content,
    listen: { hostname: "127.0.0.1", port: 0 },
    attached: (computerId) => attached.push(computerId),
  })
  if (!served.ok) throw new Error(served.error.message)
  const server: LinkServer = served.value
  receiver.addDeployment(
    environment,
    manifestOf([agentOf("worker", { runtimeMcp: Scope.parse(wideMaximum(["worker"])) })]),
  )
  const links: SupervisorLink[] = []
  return {
    directory,
    receiver,
    server,
    content,
    journal,
    attached,
    ports,
    /** Resolves when the journal has an event of this type; a bound is the test's own. */
    journaled: async (type: JournalEvent["type"]): Promise<void> => {
      const { promise, resolve } = Promise.withResolvers<void>()
      const look = () => {
        if (journal.some((event) => event.type === type)) resolve()
      }
      listeners.add(look)
      look()
      await promise
      listeners.delete(look)
    },
    /** A Session on a Computer of its own, whose credential is known. */
    start: (): { sessionId: SessionId; turnId: TurnId; computerId: ComputerId; credential: string } => {
      const started = receiver.startSession({
        environment,
        agent: "worker",
        input: text("hi"),
        idempotencyKey: freshKey(),
      })
      if (!started.ok) throw new Error(started.error.message)
      const session = receiver.snapshot().sessions.find((one) => one.id === started.value.sessionId)!
      const credential = Buffer.from(ports.randomBytes(32)).toString("base64url")
      const digest = new Bun.CryptoHasher("sha256").update(credential).digest("hex")
      receiver.registerCredential(session.computerId, digest)
      return { ...started.value, computerId: session.computerId, credential }
    },
    link: (of: { computerId: ComputerId; credential: string }, storeId?: StoreId): SupervisorLink => {
      const link = new SupervisorLink({
        url: server.url,
        credential: of.credential,
        computerId: of.computerId,
        storeId: storeId ?? ports.newId("str"),
      })
      links.push(link)
      return link
    },
    close: async () => {
      for (const link of links) link.close()
      await server.close()
      await receiver.close()
      await rm(directory, { recursive: true })
    },
  }
}
export type Rig = Awaited<ReturnType<typeof createRig>>
