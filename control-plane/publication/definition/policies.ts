/**
 * What a Template may reach and which secrets it uses, in both of its phases. Pure.
 *
 * T1 with `prepare`, an absent `prepareNetwork` is the runtime network and a given one replaces it as a whole; secrets
 *    are not inherited
 * T2 without `prepare`, nothing is reached and no secret is used before the first Session, and nothing else can be asked
 */
import { ok, type Result } from "@computerd/protocol/errors"
import type { TemplateManifest } from "@computerd/protocol/manifest"
import type { NetworkPolicy } from "@computerd/protocol/policies"
import type { DescribedTemplate } from "@computerd/protocol/program"
import { blockedNetwork, ordinaryNetwork, parseNetwork } from "../network/policy.ts"
import type { Ceiling } from "../network/reach.ts"
import { parseSecrets } from "../secrets/secrets.ts"
import { invalid } from "./field.ts"

export type Policies = Pick<TemplateManifest, "network" | "secrets" | "prepareNetwork" | "prepareSecrets">
export type WrittenPolicies = Pick<DescribedTemplate, keyof Policies | "hasPrepare">

interface Place {
  /** How the Template is called in a path. */
  readonly at: string
  readonly ceiling: Ceiling
}

type Preparation = Pick<Policies, "prepareNetwork" | "prepareSecrets">

const withoutPrepare = (written: WrittenPolicies, { at }: Place): Result<Preparation> => {
  if (written.prepareNetwork !== undefined)
    return invalid(
      `${at}.prepareNetwork`,
      "needs a prepare function; without one preparation is fully blocked",
    )
  const secrets = parseSecrets(written.prepareSecrets, `${at}.prepareSecrets`)
  if (!secrets.ok) return secrets
  return secrets.value.length === 0
    ? ok({ prepareNetwork: blockedNetwork, prepareSecrets: [] })
    : invalid(`${at}.prepareSecrets`, "needs a prepare function; without one it must be empty")
}

const withPrepare = (
  written: WrittenPolicies,
  network: NetworkPolicy,
  { at, ceiling }: Place,
): Result<Preparation> => {
  const prepareNetwork =
    written.prepareNetwork === undefined
      ? ok(network)
      : parseNetwork(written.prepareNetwork, ceiling, `${at}.prepareNetwork`)
  if (!prepareNetwork.ok) return prepareNetwork
  const prepareSecrets = parseSecrets(written.prepareSecrets, `${at}.prepareSecrets`)
  if (!prepareSecrets.ok) return prepareSecrets
  return ok({ prepareNetwork: prepareNetwork.value, prepareSecrets: prepareSecrets.value })
}

export const resolvePolicies = (written: WrittenPolicies, place: Place): Result<Policies> => {
  const { at, ceiling } = place
  const network =
    written.network === undefined
      ? ok(ordinaryNetwork)
      : parseNetwork(written.network, ceiling, `${at}.network`)
  if (!network.ok) return network
  const secrets = parseSecrets(written.secrets, `${at}.secrets`)
  if (!secrets.ok) return secrets
  const preparation = written.hasPrepare
    ? withPrepare(written, network.value, place)
    : withoutPrepare(written, place)
  if (!preparation.ok) return preparation
  return ok({ network: network.value, secrets: secrets.value, ...preparation.value })
}
