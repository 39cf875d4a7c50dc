/**
 * What the local driver can honour of a Template. Pure.
 *
 * H1 a Template with a network or secret policy is never run open: its Computers stay pending with the reason, unless
 *    the operator said that policies may go unenforced
 * H2 a Template with `prepare` stays pending in any case: a Computer that was not prepared is not the one described
 */
import type { DeploymentManifest, TemplateManifest } from "@computerd/protocol/manifest"
import type { NetworkPolicy } from "@computerd/protocol/policies"
import { copyPlans } from "./layout.ts"

/** Anything but ordinary connectivity is somebody's to enforce, full blocking too. */
const isOpen = (network: NetworkPolicy): boolean => "blockAll" in network && !network.blockAll

const unenforceable = (template: TemplateManifest): readonly string[] => [
  ...(isOpen(template.network) ? [] : ["network"]),
  ...(template.secrets.length === 0 ? [] : ["secrets"]),
]

const named = (policies: readonly string[]): string => `the ${policies.join(" and ")}`
/** `network` is one thing, `secrets` are several. */
const isAre = (policies: readonly string[]): string => (policies.join() === "network" ? "is" : "are")

/** Why no Computer can be made from this Template; `undefined` when one can. */
export const pendingReason = (template: TemplateManifest, unenforced: boolean): string | undefined => {
  if (template.hasPrepare)
    return `Template ${template.id} has prepare, which the local driver does not run; its Computers wait for a driver that does`
  const policies = unenforceable(template)
  if (policies.length === 0 || unenforced) return undefined
  return `the local driver cannot enforce ${named(policies)} of Template ${template.id}; run it with --unenforced to accept that`
}

const bases = (templates: readonly TemplateManifest[]): readonly string[] => [
  ...new Set(
    templates.flatMap(({ image }) =>
      image.steps.flatMap((step) => (step.kind === "from" ? [step.reference] : [])),
    ),
  ),
]

const outside = (template: TemplateManifest): readonly string[] =>
  copyPlans(template.image.steps).flatMap((plan) =>
    plan.kind === "outside"
      ? [`copy to ${plan.destination} of Template ${template.id} lies outside its workdir and is left out`]
      : [],
  )

const policyNotice = (template: TemplateManifest, unenforced: boolean): readonly string[] => {
  const pending = pendingReason(template, unenforced)
  if (pending !== undefined) return [pending]
  const policies = unenforceable(template)
  return policies.length === 0
    ? []
    : [`${named(policies)} of Template ${template.id} ${isAre(policies)} not enforced, as asked`]
}

/** Said once, at publication: what the local driver leaves out of these Templates. */
export const localNotices = (manifest: DeploymentManifest, unenforced: boolean): readonly string[] => {
  const { templates } = manifest
  const images = bases(templates)
  return [
    ...(images.length === 0 ? [] : [`base images are not used here: ${images.join(", ")}`]),
    ...(templates.length === 0 ? [] : ["cpu and memory of Templates are not limits here"]),
    ...templates.flatMap(outside),
    ...templates.flatMap((template) => policyNotice(template, unenforced)),
  ]
}
