/** Identities and seals of texts, and the surroundings of a decision made from them. */
import { createHmac, timingSafeEqual } from "node:crypto"
import type { Ports } from "../ports.ts"
import type { Given, Settings } from "../rules/given.ts"
import type { Store } from "../store/open.ts"

export const sha256Hex = (text: string): string => new Bun.CryptoHasher("sha256").update(text).digest("hex")

/** Both are texts of this program's own making; a different length is no secret. */
export const sameText = (left: string, right: string): boolean => {
  const [one, other] = [Buffer.from(left), Buffer.from(right)]
  return one.length === other.length && timingSafeEqual(one, other)
}

const keyBytes = 32

/** The key of cursors is kept with the data, so that a restart ends no list. */
export const givenOf = (parts: {
  readonly store: Store
  readonly ports: Ports
  readonly settings: Settings
}): (() => Given) => {
  const { ports, settings } = parts
  const key = parts.store.secret("cursor_key", () => Buffer.from(ports.randomBytes(keyBytes)).toString("hex"))
  const seal = (text: string): string => createHmac("sha256", key).update(text).digest("base64url")
  const isSealOf = (text: string, asked: string): boolean => sameText(seal(text), asked)
  return () => ({ now: ports.now(), newId: ports.newId, settings, digest: sha256Hex, seal, isSealOf })
}
