/** Gathers what `GET /v1/status` answers. Ports and counts of scopes are part of it, headers never are. */
import type { SupervisorConfiguration } from "@computerd/protocol/configuration"
import { timestamp } from "@computerd/protocol/content"
import { exitText } from "@computerd/protocol/exit"
import type { Status } from "@computerd/protocol/operator"
import type { Descriptors } from "../descriptor/descriptors.ts"
import type { Lease } from "../link/lease.ts"
import type { Link } from "../link/link.ts"
import type { Outbox } from "../link/outbox.ts"
import type { Sessions, SessionView } from "../session/sessions.ts"
import type { MachineView } from "./machine.ts"
import { type StoreStatusDeps, storeStatus } from "./store.ts"

export interface StatusDeps {
  readonly version: string
  readonly pid: number
  readonly startedAtMs: number
  readonly bootId: string
  readonly config: SupervisorConfiguration
  readonly machine: MachineView
  readonly link: Pick<Link, "status">
  readonly lease: Pick<Lease, "state">
  readonly store: StoreStatusDeps["store"]
  readonly outbox: Pick<Outbox, "unacknowledged" | "countSetAside">
  readonly sessions: Pick<Sessions, "view" | "frozenSinceMs">
  readonly descriptors: Pick<Descriptors, "view">
}

const sessionStatus = (
  view: SessionView,
  descriptors: StatusDeps["descriptors"],
): Status["sessions"][number] => {
  const mcp = descriptors.view(view.sessionId)
  return {
    id: view.sessionId,
    agent: view.assignment.agent,
    deploymentId: view.assignment.deploymentId,
    state: view.state,
    generation: view.generation,
    pid: view.pid ?? null,
    held: view.held,
    turnId: view.turn?.id ?? null,
    turnStartedAt: view.turn === undefined ? null : timestamp(view.turn.startedAtMs),
    mcpPort: mcp?.port ?? null,
    scopes: mcp?.scopes ?? 0,
    lastExit: view.lastExit === undefined ? null : exitText(view.lastExit),
  }
}

const leaseStatus = (lease: StatusDeps["lease"]): Status["lease"] => {
  const state = lease.state()
  switch (state.state) {
    case "none":
      return { state: "none", epoch: null, remainingMs: null }
    case "held":
      return state
    case "lapsed":
      return { ...state, remainingMs: null }
  }
}

export const readOwnStatus = (deps: StatusDeps): Status => {
  const link = deps.link.status()
  const degraded = deps.machine.degraded()
  const frozenMs = deps.sessions.frozenSinceMs()
  return {
    version: deps.version,
    pid: deps.pid,
    startedAt: timestamp(deps.startedAtMs),
    bootId: deps.bootId,
    computer: {
      id: deps.config.computerId,
      stateDirectory: deps.config.stateDirectory,
      workspace: deps.config.workspace,
      isolation: deps.machine.isolation(),
      ...(degraded.length === 0 ? {} : { degraded: [...degraded] }),
      ...(frozenMs === undefined ? {} : { frozenSince: timestamp(frozenMs) }),
    },
    link: {
      state: link.state,
      url: link.url,
      since: timestamp(link.sinceMs),
      attempts: link.attempts,
      lastError: link.lastError ?? null,
      unacknowledgedEvents: deps.outbox.unacknowledged(),
    },
    store: storeStatus({ ...deps, stateDirectory: deps.config.stateDirectory }),
    lease: leaseStatus(deps.lease),
    sessions: deps.sessions.view().map((view) => sessionStatus(view, deps.descriptors)),
  }
}
