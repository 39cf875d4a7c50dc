/**
 * Finds the descriptor that a presented header stands for.
 *
 * T2 the header is looked up by a keyed digest, which is then compared in constant time: neither step takes longer the
 *    more of a token was guessed
 */
import { timingSafeEqual } from "node:crypto"
import { hmac } from "./token.ts"

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
