/**
 * The identity of a Template's preparation: everything that the state before the first Session comes from. It holds the
 * resolved policy of that stage, with `prepare` and without, so a change of policy is a change of identity; the program
 * takes part only when its `prepare` runs.
 */
import { Digest } from "@computerd/protocol/ids"
import type { TemplateManifest } from "@computerd/protocol/manifest"

type Prepared = Pick<TemplateManifest, "image" | "hasPrepare" | "prepareNetwork" | "prepareSecrets">

/** Grows when the same inputs are to be prepared in another way. */
const version = 1

export const preparationIdentity = (template: Prepared, bundle: Digest): Digest => {
  const { image, hasPrepare, prepareNetwork, prepareSecrets } = template
  const inputs = [version, image.steps, hasPrepare ? bundle : null, prepareNetwork, prepareSecrets]
  return Digest.parse(new Bun.CryptoHasher("sha256").update(JSON.stringify(inputs)).digest("hex"))
}
