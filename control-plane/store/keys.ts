/** API keys: the digest of each text, never the text. Revoked ones stay, so that who had which is known. */
import { Permission } from "@computerd/protocol/api/permissions"
import type { ApiKeyId, EnvironmentKey } from "@computerd/protocol/ids"
import { z } from "zod"
import { parseJson, type Sql } from "./sql.ts"

export interface StoredKey {
  readonly id: ApiKeyId
  readonly environment: EnvironmentKey
  readonly name: string
  /** SHA-256 of the whole text, which is random enough to need no salt. */
  readonly digest: string
  readonly permissions: readonly Permission[]
  readonly createdAt: number
  readonly lastUsedAt: number | null
  readonly revokedAt: number | null
}

interface KeyRecord {
  readonly id: ApiKeyId
  readonly environment: EnvironmentKey
  readonly name: string
  readonly digest: string
  readonly permissions: string
  readonly created_at: number
  readonly last_used_at: number | null
  readonly revoked_at: number | null
}

const keyOf = (record: KeyRecord): StoredKey => ({
  id: record.id,
  environment: record.environment,
  name: record.name,
  digest: record.digest,
  permissions: z.array(Permission).parse(parseJson(record.permissions)),
  createdAt: record.created_at,
  lastUsedAt: record.last_used_at,
  revokedAt: record.revoked_at,
})

export interface Keys {
  readonly all: () => readonly StoredKey[]
  readonly add: (key: StoredKey) => void
  readonly revoke: (id: ApiKeyId, at: number) => void
  readonly used: (id: ApiKeyId, at: number) => void
}

export const keysOf = (sql: Sql): Keys => ({
  all: () => sql.all<KeyRecord>("select * from api_keys order by id").map(keyOf),
  add: (key) => {
    sql.run(
      `insert into api_keys (id, environment, name, digest, permissions, created_at) values ($1, $2, $3, $4, $5, $6)`,
      key.id,
      key.environment,
      key.name,
      key.digest,
      JSON.stringify(key.permissions),
      key.createdAt,
    )
  },
  revoke: (id, at) => {
    sql.run("update api_keys set revoked_at = $1 where id = $2 and revoked_at is null", at, id)
  },
  used: (id, at) => {
    sql.run("update api_keys set last_used_at = $1 where id = $2", at, id)
  },
})
