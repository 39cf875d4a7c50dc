/**
 * API keys: who may ask what, for which Environment.
 *
 * Y1 the text of a key is shown once; its digest alone is stored, and compared in constant time
 * Y2 a revoked key is refused from that moment on, and whatever it has open is told
 * Y3 every key is known in memory, so that a request reads no table
 */
import type { ApiKey, CreatedKey, CreateKeyRequest } from "@computerd/protocol/api/keys"
import { keyTextForm } from "@computerd/protocol/api/keys"
import { Permission } from "@computerd/protocol/api/permissions"
import { timestamp } from "@computerd/protocol/content"
import { fail, ok, type Result } from "@computerd/protocol/errors"
import type { ApiKeyId, EnvironmentKey } from "@computerd/protocol/ids"
import type { z } from "zod"
import type { CancelTimer, Ports } from "../ports.ts"
import type { StoredKey } from "../store/keys.ts"
import type { Store } from "../store/open.ts"
import { createListeners, type Listeners } from "./listeners.ts"
import { sameText, sha256Hex } from "./seals.ts"

export interface KeyHolder {
  readonly id: ApiKeyId
  readonly environment: EnvironmentKey
  readonly permissions: ReadonlySet<Permission>
}

export interface ApiKeys {
  readonly create: (request: z.infer<typeof CreateKeyRequest>) => Result<CreatedKey>
  readonly list: () => readonly ApiKey[]
  /** Revoking again changes nothing. */
  readonly revoke: (id: ApiKeyId) => Result<ApiKey>
  readonly authenticate: (text: string) => KeyHolder | undefined
  readonly onRevoked: Listeners<ApiKeyId>["subscribe"]
  readonly close: () => void
}

interface Known {
  row: StoredKey
  readonly holder: KeyHolder
}

const secretBytes = 32
/** A use is noted no more often; it tells whether a key is still needed. */
const usedEveryMs = 60_000

const time = (at: number | null): string | null => (at === null ? null : timestamp(at))

const viewOf = ({ digest: _, ...row }: StoredKey): ApiKey => ({
  ...row,
  permissions: [...row.permissions],
  createdAt: timestamp(row.createdAt),
  lastUsedAt: time(row.lastUsedAt),
  revokedAt: time(row.revokedAt),
})

const idIn = (text: string): string | undefined => {
  const hex = keyTextForm.exec(text)?.[1]
  return hex?.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, "key_$1-$2-$3-$4-$5")
}

const unstored = fail("store_unavailable", "the key cannot be stored; see the control plane's log")

export const createApiKeys = ({
  store,
  ports,
}: {
  readonly store: Store
  readonly ports: Ports
}): ApiKeys => {
  const table = store.tables.keys
  const revoked = createListeners<ApiKeyId>("revoked key", ports.journal)
  const known = new Map<string, Known>()
  const used = new Set<Known>()
  let timer: CancelTimer | undefined

  const know = (row: StoredKey): void => {
    const { id, environment } = row
    known.set(id, { row, holder: { id, environment, permissions: new Set(row.permissions) } })
  }
  for (const row of table.all()) know(row)

  const write = (operation: string, work: () => void): boolean => {
    try {
      store.transaction(work)
      return true
    } catch (error) {
      const message = error instanceof Error ? error.message : String(error)
      ports.journal.record({ type: "store_failed", operation, message })
      return false
    }
  }

  const noteUses = (): void => {
    timer?.()
    timer = undefined
    const uses = [...used]
    used.clear()
    if (uses.length === 0) return
    write("note uses of keys", () => {
      for (const { row } of uses) table.used(row.id, row.lastUsedAt ?? row.createdAt)
    })
  }

  const noteUse = (key: Known): void => {
    const now = ports.now()
    if (now - (key.row.lastUsedAt ?? 0) < usedEveryMs) return
    key.row = { ...key.row, lastUsedAt: now }
    used.add(key)
    timer ??= ports.after(usedEveryMs, noteUses)
  }

  return {
    create: ({ environment, name, permissions }) => {
      const id = ports.newId("key")
      const secret = Buffer.from(ports.randomBytes(secretBytes)).toString("hex")
      const text = `hlm_${id.slice("key_".length).replaceAll("-", "")}_${secret}`
      const row: StoredKey = {
        id,
        environment,
        name,
        digest: sha256Hex(text),
        permissions: Permission.options.filter((one) => permissions.includes(one)),
        createdAt: ports.now(),
        lastUsedAt: null,
        revokedAt: null,
      }
      if (!write("create key", () => table.add(row))) return unstored
      know(row)
      ports.journal.record({ type: "key_created", keyId: id, environment, permissions: row.permissions })
      return ok({ key: viewOf(row), secret: text })
    },
    list: () => [...known.values()].map(({ row }) => viewOf(row)),
    revoke: (id) => {
      const key = known.get(id)
      if (key === undefined) return fail("not_found", "there is no such key", "id")
      if (key.row.revokedAt !== null) return ok(viewOf(key.row))
      const row = { ...key.row, revokedAt: ports.now() }
      if (!write("revoke key", () => table.revoke(id, row.revokedAt))) return unstored
      key.row = row
      ports.journal.record({ type: "key_revoked", keyId: id, environment: row.environment })
      revoked.tell(id)
      return ok(viewOf(row))
    },
    authenticate: (text) => {
      const key = known.get(idIn(text) ?? "")
      if (key === undefined || !sameText(key.row.digest, sha256Hex(text)) || key.row.revokedAt !== null)
        return undefined
      noteUse(key)
      return key.holder
    },
    onRevoked: revoked.subscribe,
    close: () => {
      noteUses()
      revoked.clear()
    },
  }
}
