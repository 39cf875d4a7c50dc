/** Publishes programs: content first, then the Deployment, which becomes its Environment's current one. */
import { CodedError, fail, failure, ok, type Result } from "@computerd/protocol/errors"
import { type DeploymentId, EnvironmentKey } from "@computerd/protocol/ids"
import { judge } from "@computerd/protocol/judge"
import { localNotices } from "./drivers/local/honour.ts"
import { type Publication, type PublicationDeps, publishProgram } from "./publication/publish.ts"
import type { Receiver } from "./receiver/receiver.ts"
import { createSlots } from "./slots.ts"

export interface PublishOptions {
  readonly environment?: string
  /** Of the process that loads the program at publication. */
  readonly variables?: Readonly<Record<string, string>>
  /** Gives up: nothing is published, and nothing of it runs any more when the answer comes. */
  readonly signal?: AbortSignal
  /** The program was uploaded: it reads nothing outside of its directory. */
  readonly confined?: boolean
  /** Makes the Deployment, for those who keep more with it; otherwise it is made as it is. */
  readonly add?: AddDeployment
}

export type AddDeployment = (publication: Publication) => Promise<Result<Published>>

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

const adder =
  ({ receiver }: PublisherDeps, environment: EnvironmentKey): AddDeployment =>
  async ({ manifest, notices }) => {
    try {
      return ok({
        deploymentId: receiver.addDeployment(environment, manifest).deploymentId,
        notices: [...notices],
      })
    } catch (error) {
      if (!(error instanceof CodedError)) throw error
      return { ok: false, error: failure(error.code, error.message, error.field) }
    }
  }

interface Request {
  readonly directory: string
  readonly variables: Readonly<Record<string, string>>
  readonly signal: AbortSignal
  readonly confined: boolean
  readonly add: AddDeployment
}

const publishOne = async (request: Request, deps: PublisherDeps): Promise<Result<Published>> => {
  const { directory, variables, signal, confined } = request
  const published = await publishProgram(directory, variables, { ...deps, signal, confined })
  if (!published.ok) return published
  const { manifest, notices } = published.value
  return request.add({ manifest, notices: [...notices, ...localNotices(manifest, deps.unenforced)] })
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
    publish: async (directory, options = {}) => {
      const { environment = defaultEnvironment, variables = {}, signal: given } = options
      const key = judge(EnvironmentKey, environment)
      if (!key.ok) return fail("invalid_arguments", `environment ${key.error.message}`, "environment")
      const signal = given === undefined ? closing.signal : AbortSignal.any([given, closing.signal])
      const { confined = false, add = adder(deps, key.value) } = options
      const work = inTurn({ directory, variables, signal, confined, add })
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
