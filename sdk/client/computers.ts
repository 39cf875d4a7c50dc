/** `client.computers`: where Sessions run. */
import { computerRoutes } from "@computerd/protocol/api/computers"
import type { CallOptions, MutationOptions } from "./options.ts"
import { type PageOptions, pageOf } from "./paging.ts"
import { type SessionPage, sessionPageOf } from "./sessions.ts"
import type { Transport } from "./transport/transport.ts"

export type ComputerStatus = "available" | "deleting" | "deleted"

export interface Computer {
  readonly id: string
  readonly key: string | null
  /** Its own pin: Template and Deployment never change. */
  readonly template: string
  readonly deploymentId: string
  readonly status: ComputerStatus
  readonly residency: "cold" | "starting" | "running" | "parking" | "parked" | "restoring" | "unavailable"
  /** Why it is `unavailable`. */
  readonly error: { readonly code: string; readonly message?: string | undefined } | null
  readonly deleteAfterUnusedMs: number | null
  readonly unusedSince: string | null
  readonly createdAt: string
  readonly updatedAt: string
}

export interface ComputerPage {
  readonly computers: readonly Computer[]
  readonly nextCursor?: string | undefined
}

export interface CreateComputerOptions extends MutationOptions {
  /** A name for the Computer; no two that are not deleted share one. */
  readonly key?: string | undefined
}

export interface CreatedComputer {
  readonly computerId: string
  readonly template: string
  readonly deploymentId: string
}

export interface DeletedComputer {
  readonly computerId: string
  readonly status: "deleting" | "deleted"
}

export interface ListComputersOptions extends PageOptions {
  /** Absent: those that are not deleted. */
  readonly status?: ComputerStatus | undefined
}

export interface Computers {
  /** Of a Template of the current Deployment. */
  readonly create: (template: string, options?: CreateComputerOptions) => Promise<CreatedComputer>
  readonly get: (computerId: string, options?: CallOptions) => Promise<Computer>
  /** Newest first. */
  readonly list: (options?: ListComputersOptions) => Promise<ComputerPage>
  /** The Sessions that run on it, newest first. */
  readonly sessions: (computerId: string, options?: PageOptions) => Promise<SessionPage>
  /** With what it holds. Close or cancel its Sessions first. */
  readonly delete: (computerId: string, options?: MutationOptions) => Promise<DeletedComputer>
}

export const createComputers = (transport: Transport): Computers => ({
  create: (template, { key, idempotencyKey = transport.ports.newKey(), ...settings } = {}) => {
    const body = { template, key, idempotencyKey }
    return transport.call(
      { route: computerRoutes.create, params: {}, query: {}, body, idempotencyKey },
      settings,
    )
  },
  get: (computerId, options = {}) =>
    transport.call(
      { route: computerRoutes.get, params: { computerId }, query: {}, body: undefined },
      options,
    ),
  list: (options = {}) => {
    const query = { ...pageOf(options), status: options.status }
    return transport.call({ route: computerRoutes.list, params: {}, query, body: undefined }, options)
  },
  sessions: async (computerId, options = {}) => {
    const { members: route } = computerRoutes
    const query = pageOf(options)
    const page = await transport.call({ route, params: { computerId }, query, body: undefined }, options)
    return sessionPageOf(transport, page)
  },
  delete: (computerId, { idempotencyKey = transport.ports.newKey(), ...settings } = {}) => {
    const { delete: route } = computerRoutes
    return transport.call(
      { route, params: { computerId }, query: { idempotencyKey }, body: undefined, idempotencyKey },
      settings,
    )
  },
})
