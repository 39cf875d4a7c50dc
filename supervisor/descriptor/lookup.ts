/**
 * Finds the descriptor that a presented header stands for.
 *
 * T2 the header is looked up by a keyed digest, which is then compared in constant time: neither step takes longer the
 *    more of a token was guessed
 */

const digestBytes = 32

/** Descriptors of one process by their header. */
export interface TokenIndex<Descriptor> {
  readonly add: (authorization: string, descriptor: Descriptor) => void
  readonly find: (authorization: string) => Descriptor | undefined
  /** From now on nothing is found. */
  readonly clear: () => void
}

/**
 * `lookupKey` is random and known to this index only, so that nobody can aim at its buckets. Every request comes through
 * here: the digest is one native call into one buffer.
 */
export const createTokenIndex = <Descriptor>(lookupKey: Uint8Array): TokenIndex<Descriptor> => {
  const prefix = Buffer.from(lookupKey).toString("base64")
  const presented = Buffer.alloc(digestBytes)
  const entries = new Map<string, { readonly digest: Buffer; readonly descriptor: Descriptor }>()
  const digest = (authorization: string): string => {
    Bun.SHA256.hash(prefix + authorization, presented)
    return presented.toString("latin1")
  }
  return {
    add: (authorization, descriptor) => {
      entries.set(digest(authorization), { digest: Buffer.from(presented), descriptor })
    },
    find: (authorization) => {
      const entry = entries.get(digest(authorization))
      return entry !== undefined && crypto.timingSafeEqual(entry.digest, presented)
        ? entry.descriptor
        : undefined
    },
    clear: () => entries.clear(),
  }
}
