/**
 * Bearer tokens of MCP descriptors. A token is derived from the key of its Session process and the digest of its
 * scope, so that an equal request gets an equal header, also from a restarted supervisor, and no token is stored.
 *
 * T1 equal (key, scope) give equal headers, and distinct ones distinct headers
 * T2 what is presented is looked up by a keyed digest and compared in constant time: neither the time of the lookup
 *    nor that of the comparison depends on how much of a token was guessed
 */
import { timingSafeEqual } from "node:crypto"

export const processKeyBytes = 32

/** Keeps this use of a key apart from any other that may come. */
const purpose = "helmr-runtime-mcp:"

const hmac = (key: Uint8Array, text: string): Buffer =>
  new Bun.CryptoHasher("sha256", key).update(text).digest()

/** The whole value of the `Authorization` header. */
export const authorizationFor = (key: Uint8Array, scopeDigest: string): string =>
  `Bearer ${hmac(key, purpose + scopeDigest).toString("base64url")}`

/** Descriptors of one process by their header. */
export interface TokenIndex<Descriptor> {
  readonly add: (authorization: string, descriptor: Descriptor) => void
  readonly find: (authorization: string) => Descriptor | undefined
  /** From now on nothing is found. */
  readonly clear: () => void
}

/** `lookupKey` is random and known to this index only, so that nobody can aim at its buckets. */
export const createTokenIndex = <Descriptor>(lookupKey: Uint8Array): TokenIndex<Descriptor> => {
  const entries = new Map<string, { readonly digest: Buffer; readonly descriptor: Descriptor }>()
  return {
    add: (authorization, descriptor) => {
      const digest = hmac(lookupKey, authorization)
      entries.set(digest.toString("base64"), { digest, descriptor })
    },
    find: (authorization) => {
      const digest = hmac(lookupKey, authorization)
      const entry = entries.get(digest.toString("base64"))
      return entry !== undefined && timingSafeEqual(entry.digest, digest) ? entry.descriptor : undefined
    },
    clear: () => entries.clear(),
  }
}
