/**
 * A manifest as it was stored. Those from before policies were resolved hold them as their author wrote them; they are
 * resolved when they are read, and what is refused today blocks everything, so that nothing ever reads as open.
 */
import type { DeploymentManifest, TemplateManifest } from "@computerd/protocol/manifest"
import { type Policies, resolvePolicies, type WrittenPolicies } from "../publication/definition/policies.ts"
import { preparationIdentity } from "../publication/definition/preparation.ts"
import { blockedNetwork } from "../publication/network/policy.ts"
import { parseJson } from "./sql.ts"

type WrittenTemplate = Omit<TemplateManifest, keyof Policies | "preparation"> & WrittenPolicies

type StoredManifest = Omit<DeploymentManifest, "templates"> & {
  readonly templates: readonly (TemplateManifest | WrittenTemplate)[]
}

const blocked: Policies = {
  network: blockedNetwork,
  secrets: [],
  prepareNetwork: blockedNetwork,
  prepareSecrets: [],
}

const resolved = (
  template: TemplateManifest | WrittenTemplate,
  { bundle }: StoredManifest,
): TemplateManifest => {
  if ("preparation" in template) return template
  const policies = resolvePolicies(template, { at: "", ceiling: [] })
  const complete = { ...template, ...(policies.ok ? policies.value : blocked) }
  return { ...complete, preparation: preparationIdentity(complete, bundle) }
}

export const readManifest = (text: string): DeploymentManifest => {
  const stored = parseJson<StoredManifest>(text)
  return { ...stored, templates: stored.templates.map((template) => resolved(template, stored)) }
}
