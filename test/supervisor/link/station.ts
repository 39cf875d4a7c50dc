/**
 * The link with all its own parts (store, outbox, lease, admissions) in this process, against the fake control plane.
 * Sessions are a recorder: what is under test is what reaches them.
 */
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import type { Result } from "@computerd/protocol/errors"
import { ok } from "@computerd/protocol/errors"
import { type ComputerId, Generation } from "@computerd/protocol/ids"
import type { AdmissionAnswer, AdmissionRequest, LinkCommand, LinkEvent } from "@computerd/protocol/link"
import { Admissions } from "@computerd/supervisor/admission/admissions"
import { createAdmissionJournal } from "@computerd/supervisor/admission/journal"
import { createJournal, type JournalEntry } from "@computerd/supervisor/journal"
import { createLease, type Lease } from "@computerd/supervisor/link/lease"
import type { Link } from "@computerd/supervisor/link/link"
import { createOutbox, type Outbox } from "@computerd/supervisor/link/outbox"
import { ControlPlaneLink } from "@computerd/supervisor/link/supervise"
import { webSockets } from "@computerd/supervisor/link/websocket"
import { type Ports, systemPorts } from "@computerd/supervisor/ports"
import { admissionsTable } from "@computerd/supervisor/store/admissions"
import { leaseTable } from "@computerd/supervisor/store/lease"
import { openStore, type Store } from "@computerd/supervisor/store/open"
import { FakeControlPlane, type FakeOptions } from "../../fakes/control-plane.ts"

export const ports: Ports = { ...systemPorts({}), random: () => 0.1 }

export interface Station {
  readonly directory: string
  readonly controlPlane: FakeControlPlane
  readonly store: Store
  readonly lease: Lease
  readonly outbox: Outbox
  readonly admissions: Admissions
  readonly link: Link
  readonly entries: JournalEntry[]
  readonly applied: LinkCommand[]
  readonly reconciled: number[]
  readonly rejected: string[]
  readonly emit: (...events: LinkEvent[]) => void
  /** The next command makes the transaction that applies it fail. */
  readonly failNextApply: () => void
  readonly credential: (value: Result<string>) => void
  /** State of each journalled admission, oldest first. */
  readonly admissionStates: () => readonly string[]
  /** Ends it as a kill would: nothing is flushed, told or answered. */
  readonly kill: () => Promise<void>
  readonly close: () => Promise<void>
}

export interface StationOptions {
  readonly fake?: Partial<FakeOptions>
  readonly controlPlane?: FakeControlPlane
  readonly directory?: string
  readonly computerId?: ComputerId
  readonly ports?: Ports
  readonly start?: "later"
}

export const createStation = (options: StationOptions = {}): Station => {
  const directory = options.directory ?? mkdtempSync(join(tmpdir(), "computerd-link-"))
  const controlPlane =
    options.controlPlane ?? new FakeControlPlane({ credential: "test-credential", ...options.fake })
  const ours = options.ports ?? ports
  const entries: JournalEntry[] = []
  const journal = createJournal(ours.clock, [(entry) => entries.push(entry)])
  const opened = openStore({ directory, ports: ours, journal })
  if (!opened.ok) throw new Error(opened.error.message)
  const store = opened.value
  const applied: LinkCommand[] = []
  const reconciled: number[] = []
  const rejected: string[] = []
  let failing = false
  let credential: Result<string> = ok("test-credential")
  const lease = createLease({ ...ours, changed: () => undefined })
  const outbox = createOutbox({ store, clock: ours.clock, journal, pushed: () => link.pump() })
  const admissions: Admissions = new Admissions({
    ports: ours,
    journal,
    entries: createAdmissionJournal(store, ours.clock),
    send: (frame) => link.send(frame),
  })
  const link: Link = new ControlPlaneLink({
    ports: ours,
    transport: webSockets,
    journal,
    store,
    leases: leaseTable(store.database),
    outbox,
    lease,
    sessions: {
      apply: (command) => {
        if (failing) {
          failing = false
          throw new Error("database or disk is full")
        }
        applied.push(command)
      },
      reconcile: (run) => reconciled.push(run.length),
      living: () => [],
    },
    requests: admissions,
    attached: () => undefined,
    computerId: options.computerId ?? ours.newId("cmp"),
    controlPlaneUrl: controlPlane.url,
    bootId: "boot-1",
    version: "0.0.0",
    credential: () => credential,
    rejected: (error) => rejected.push(error.code),
  })
  if (options.start !== "later") link.start()
  return {
    directory,
    controlPlane,
    store,
    lease,
    outbox,
    admissions,
    link,
    entries,
    applied,
    reconciled,
    rejected,
    emit: (...events) => store.transaction(() => events.forEach(outbox.push)),
    failNextApply: () => {
      failing = true
    },
    credential: (value) => {
      credential = value
    },
    admissionStates: () =>
      store.database
        .query<{ state: string }, []>("SELECT state FROM admissions ORDER BY request_id")
        .all()
        .map(({ state }) => state),
    kill: async () => {
      // First, so that nothing of the end can be written down.
      store.close()
      controlPlane.cut()
      await link.close()
      admissions.close()
    },
    close: async () => {
      await link.close()
      admissions.close()
      store.close()
      await controlPlane.close()
      rmSync(directory, { recursive: true, force: true })
    },
  }
}

export const attached = (station: Station): Promise<void> =>
  station.controlPlane.until(() => station.link.status().state === "attached", "the attachment")

export const settledAdmissions = (station: Station) => admissionsTable(station.store.database).count()

export const request = (tool: string, args: AdmissionRequest["arguments"] = {}): AdmissionRequest => ({
  sessionId: ports.newId("ses"),
  generation: Generation.parse(1),
  scope: { kind: "finite", allow: [] },
  tool,
  arguments: args,
})

export const codeOf = (answer: AdmissionAnswer): string => (answer.ok ? "ok" : answer.error.code)
export const messageOf = (answer: AdmissionAnswer): string => (answer.ok ? "" : answer.error.message)
