/** `client.deployments`: programs as they were published. */
import { deploymentRoutes } from "@computerd/protocol/api/deployments"
import { archiveOf, type Program } from "./archive/program.ts"
import { type CallOptions, type MutationOptions, timeoutOf } from "./options.ts"
import { type PageOptions, pageOf } from "./paging.ts"
import { linked } from "./transport/deadline.ts"
import type { Transport } from "./transport/transport.ts"

export interface Deployment {
  readonly id: string
  /** Whether `agents.start` and `computers.create` take it. */
  readonly current: boolean
  /** Keys. */
  readonly agents: readonly string[]
  readonly templates: readonly string[]
  readonly createdAt: string
}

export interface DeploymentPage {
  readonly deployments: readonly Deployment[]
  readonly nextCursor?: string | undefined
}

export interface PublishedDeployment {
  readonly deploymentId: string
  /** What the author should know, one sentence each. */
  readonly notices: readonly string[]
}

export interface Deployments {
  /**
   * Uploads a program; the Deployment that comes of it becomes the current one. A refused program changes nothing, and the
   * error's `field` names what to correct. `timeoutMs` is 300 s by default: the program is bundled meanwhile.
   */
  readonly publish: (program: Program, options?: MutationOptions) => Promise<PublishedDeployment>
  readonly get: (deploymentId: string, options?: CallOptions) => Promise<Deployment>
  readonly current: (options?: CallOptions) => Promise<Deployment>
  /** Newest first. */
  readonly list: (options?: PageOptions) => Promise<DeploymentPage>
}

const publishDefaultMs = 300_000

const packed = async (
  { connection }: Transport,
  program: Program,
  signal: AbortSignal | undefined,
): Promise<Uint8Array<ArrayBuffer>> => {
  const either = linked([signal, connection.signal])
  try {
    return await archiveOf(program, either.signal)
  } finally {
    either.release()
  }
}

const publish = async (
  transport: Transport,
  program: Program,
  { idempotencyKey = transport.ports.newKey(), signal, ...rest }: MutationOptions,
): Promise<PublishedDeployment> => {
  const timeoutMs = timeoutOf(rest, publishDefaultMs)
  const body = await packed(transport, program, signal)
  const { publish: route } = deploymentRoutes
  return transport.call(
    { route, params: {}, query: { idempotencyKey }, body, idempotencyKey },
    { signal, timeoutMs, attemptMs: timeoutMs },
  )
}

export const createDeployments = (transport: Transport): Deployments => ({
  publish: (program, options = {}) => publish(transport, program, options),
  get: (deploymentId, options = {}) => {
    const { get: route } = deploymentRoutes
    return transport.call({ route, params: { deploymentId }, query: {}, body: undefined }, options)
  },
  current: (options = {}) => {
    const { current: route } = deploymentRoutes
    return transport.call({ route, params: {}, query: {}, body: undefined }, options)
  },
  list: (options = {}) => {
    const { list: route } = deploymentRoutes
    return transport.call({ route, params: {}, query: pageOf(options), body: undefined }, options)
  },
})
