/**
 * Secrets of Session processes: 32 random bytes that only the process keeps. The runtime's own functions do without
 * `node:crypto`, whose loading would be felt in each start of a supervisor.
 */

const secretBytes = 32

export const newSecret = (randomBytes: (count: number) => Uint8Array): string =>
  Buffer.from(randomBytes(secretBytes)).toString("base64url")

export const secretHash = (secret: string): string =>
  new Bun.CryptoHasher("sha256").update(secret).digest("hex")

const scheme = "Bearer "

/** The whole header, or nothing: no splitting of joined ones. */
export const presentedSecret = (authorization: string | null): string | undefined =>
  authorization?.startsWith(scheme) === true ? authorization.slice(scheme.length) : undefined

/** Compares with every candidate, so that time tells neither which one matched nor whether one did. */
export const findBySecret = <Candidate extends { readonly secretHash: string }>(
  candidates: readonly Candidate[],
  secret: string,
): Candidate | undefined => {
  const presented = new Bun.CryptoHasher("sha256").update(secret).digest()
  let found: Candidate | undefined
  for (const candidate of candidates) {
    const expected = Buffer.from(candidate.secretHash, "hex")
    if (expected.length === presented.length && crypto.timingSafeEqual(expected, presented)) found = candidate
  }
  return found
}
