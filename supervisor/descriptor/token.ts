/**
 * Bearer tokens of MCP descriptors. A token is derived from the key of its Session process and the digest of its
 * scope, so that an equal request gets an equal header, also from a restarted supervisor, and no token is stored.
 *
 * T1 equal (key, scope) give equal headers, and distinct ones distinct headers
 */
export const processKeyBytes = 32

/** Keeps this use of a key apart from any other that may come. */
const purpose = "helmr-runtime-mcp:"

/** The whole value of the `Authorization` header. */
export const authorizationFor = (key: Uint8Array, scopeDigest: string): string =>
  `Bearer ${new Bun.CryptoHasher("sha256", key).update(purpose + scopeDigest).digest("base64url")}`
