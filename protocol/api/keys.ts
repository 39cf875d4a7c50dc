/**
 * API keys. Operators make and revoke them over the control plane's socket; the public API has no route for them. The
 * text of a key is `hlm_<id>_<secret>` and is shown once.
 */
import { z } from "zod"
import { Timestamp } from "../content.ts"
import { ApiKeyId, EnvironmentKey } from "../ids.ts"
import { Permission } from "./permissions.ts"

export const keyTextForm = /^hlm_([0-9a-f]{32})_[0-9a-f]{64}$/

export const ApiKey = z.object({
  id: ApiKeyId,
  environment: EnvironmentKey,
  name: z.string(),
  permissions: z.array(Permission),
  createdAt: Timestamp,
  /** To the minute; `null`: never. */
  lastUsedAt: Timestamp.nullable(),
  revokedAt: Timestamp.nullable(),
})
export type ApiKey = Readonly<z.infer<typeof ApiKey>>

export const CreateKeyRequest = z.strictObject({
  environment: EnvironmentKey.default(EnvironmentKey.parse("default")),
  name: z.string().min(1).max(128),
  permissions: z.array(Permission).min(1),
})

/** `secret` is the whole text of the key; it cannot be read again. */
export const CreatedKey = z.object({ key: ApiKey, secret: z.string() })
export type CreatedKey = Readonly<z.infer<typeof CreatedKey>>

export const KeyList = z.object({ keys: z.array(ApiKey) })
export const RevokedKey = z.object({ key: ApiKey })
