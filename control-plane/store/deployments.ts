/** Deployments never change, so each is parsed once. */
import type { DeploymentId, EnvironmentKey } from "@computerd/protocol/ids"
import type { Deployment } from "../rules/entities.ts"
import { readManifest } from "./manifest.ts"
import { last, type Sql } from "./sql.ts"

interface DeploymentRecord {
  readonly id: DeploymentId
  readonly environment: EnvironmentKey
  readonly manifest: string
  readonly created_at: number
}

export interface Deployments {
  readonly get: (id: DeploymentId) => Deployment | undefined
  readonly current: (environment: EnvironmentKey) => DeploymentId | undefined
  /** Newest first, below `before`. */
  readonly page: (environment: EnvironmentKey, before: string | null, limit: number) => readonly Deployment[]
  /** Adds it and makes it the current one of its Environment. */
  readonly add: (deployment: Deployment) => void
}

/** Parsed manifests that are kept; a manifest is some kilobytes. */
const parsedMax = 256

export const deploymentsOf = (sql: Sql): Deployments => {
  const parsed = new Map<DeploymentId, Deployment>()

  const load = (id: DeploymentId): Deployment | undefined => {
    const record = sql.get<DeploymentRecord>("select * from deployments where id = $1", id)
    if (record === undefined) return undefined
    const { environment, created_at: createdAt } = record
    return { id, environment, manifest: readManifest(record.manifest), createdAt }
  }

  const get = (id: DeploymentId): Deployment | undefined => {
    const known = parsed.get(id)
    if (known !== undefined) return known
    const loaded = load(id)
    if (loaded === undefined) return undefined
    const [first] = parsed.keys()
    if (parsed.size >= parsedMax && first !== undefined) parsed.delete(first)
    parsed.set(id, loaded)
    return loaded
  }

  return {
    get,
    current: (environment) =>
      sql.get<{ readonly id: DeploymentId }>(
        "select current_deployment_id as id from environments where key = $1",
        environment,
      )?.id,
    page: (environment, before, limit) =>
      sql
        .all<{ readonly id: DeploymentId }>(
          "select id from deployments where environment = $1 and id < $2 order by id desc limit $3",
          environment,
          before ?? last,
          limit,
        )
        .map(({ id }) => get(id))
        .filter((deployment) => deployment !== undefined),
    add: (deployment) => {
      sql.run(
        "insert into deployments (id, environment, manifest, created_at) values ($1, $2, $3, $4)",
        deployment.id,
        deployment.environment,
        JSON.stringify(deployment.manifest),
        deployment.createdAt,
      )
      sql.run(
        `insert into environments (key, current_deployment_id) values ($1, $2)
         on conflict (key) do update set current_deployment_id = excluded.current_deployment_id`,
        deployment.environment,
        deployment.id,
      )
    },
  }
}
