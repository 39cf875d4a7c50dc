/** Publishes programs: content first, then the Deployment, which becomes its Environment's current one. */
import { CodedError, fail, failure, ok, type Result } from "@computerd/protocol/errors"
import { type DeploymentId, EnvironmentKey } from "@computerd/protocol/ids"
import { judge } from "@computerd/protocol/judge"
import type { DeploymentManifest } from "@computerd/protocol/manifest"
import { localNotices } from "./drivers/local/honour.ts"
import { type PublicationDeps, publishProgram } from "./publication/publish.ts"
import type { Receiver } from "./receiver/receiver.ts"
import { createSlots } from "./slots.ts"

export interface PublishOptions {
  readonly environment?: string
  /** Of the process that loads the program at publication. */
  readonly variables?: Readonly<Record<string, string>>
  /** Gives up: nothing is published, and nothing of it runs any more when the answer comes. */
  readonly signal?: AbortSignal
}

export interface Published {
  readonly deploymentId: DeploymentId
  /** What the author should know, one sentence each. */
  readonly notices: string[]
}

export type Publish = (directory: string, options?: PublishOptions) => Promise<Result<Published>>

export interface Publisher {
  readonly publish: Publish
  /** Gives up what runs and waits until nothing of it is left. */
  readonly close: () => Promise<void>
}

export interface PublisherDeps extends Omit<PublicationDeps, "signal"> {
  readonly receiver: Pick<Receiver, "addDeployment">
  readonly unenforced: boolean
}

const defaultEnvironment = "default"
/** Each bundles, loads and copies; more at once only makes each slower. */
const publicationsMax = 4

const add = (
  { receiver }: PublisherDeps,
  environment: EnvironmentKey,
  manifest: DeploymentManifest,
): Result<DeploymentId> => {
  try {
    return ok(receiver.addDeployment(environment, manifest).deploymentId)
  } catch (error) {
    if (!(error instanceof CodedError)) throw error
    return { ok: false, error: failure(error.code, error.message, error.field) }
  }
}

interface Request {
  readonly directory: string
  readonly environment: EnvironmentKey
  readonly variables: Readonly<Record<string, string>>
  readonly signal: AbortSignal
}

const publishOne = async (request: Request, deps: PublisherDeps): Promise<Result<Published>> => {
  const { directory, environment, variables, signal } = request
  const published = await publishProgram(directory, variables, { ...deps, signal })
  if (!published.ok) return published
  const { manifest, notices } = published.value
  const added = add(deps, environment, manifest)
  if (!added.ok) return added
  return ok({
    deploymentId: added.value,
    notices: [...notices, ...localNotices(manifest, deps.unenforced)],
  })
}

export const createPublisher = (deps: PublisherDeps): Publisher => {
  const slots = createSlots(publicationsMax)
  const closing = new AbortController()
  const running = new Set<Promise<unknown>>()

  const inTurn = async (request: Request): Promise<Result<Published>> => {
    const giveBack = await slots.take(request.signal).catch(() => undefined)
    if (giveBack === undefined)
      return fail("interrupted", "the publication was given up; nothing was published")
    try {
      return await publishOne(request, deps)
    } finally {
      giveBack()
    }
  }

  return {
    publish: async (directory, { environment = defaultEnvironment, variables = {}, signal: given } = {}) => {
      const key = judge(EnvironmentKey, environment)
      if (!key.ok) return fail("invalid_arguments", `environment ${key.error.message}`, "environment")
      const signal = given === undefined ? closing.signal : AbortSignal.any([given, closing.signal])
      const work = inTurn({ directory, environment: key.value, variables, signal })
      running.add(work)
      try {
        return await work
      } finally {
        running.delete(work)
      }
    },
    close: async () => {
      closing.abort(new Error("the control plane is closing"))
      await Promise.allSettled(running)
    },
  }
}
