/** What one Deployment pins, as publication stored it. Nothing in it changes afterwards. */
import { z } from "zod"
import { DefinitionKey, Digest } from "./ids.ts"
import { NetworkPolicy, TemplateSecret } from "./policies.ts"
import { Scope } from "./scope.ts"

/** One step of an image, in order. `copy` puts the content of a stored layer at `destination`. */
export const ImageStep = z.discriminatedUnion("kind", [
  z.strictObject({ kind: z.literal("from"), reference: z.string() }),
  z.strictObject({ kind: z.literal("copy"), layer: Digest, destination: z.string() }),
  z.strictObject({ kind: z.literal("workdir"), path: z.string() }),
])
export type ImageStep = Readonly<z.infer<typeof ImageStep>>

export const AgentManifest = z.strictObject({
  id: DefinitionKey,
  template: DefinitionKey,
  /** The resolved maximum: always explicit. */
  runtimeMcp: Scope,
  /** `null`: never closes for idleness. */
  closeAfterIdleMs: z.int().min(0).nullable(),
  hasInit: z.boolean(),
})
export type AgentManifest = Readonly<z.infer<typeof AgentManifest>>

export const TemplateManifest = z.strictObject({
  id: DefinitionKey,
  image: z.strictObject({ name: z.string(), steps: z.array(ImageStep) }),
  resources: z.strictObject({ cpu: z.number().positive(), memoryBytes: z.int().positive() }),
  /** Resolved, in normal form. A driver that cannot honour one of them never runs the Template open. */
  network: NetworkPolicy,
  secrets: z.array(TemplateSecret),
  hasPrepare: z.boolean(),
  /** Of the time before the first Session: full blocking and no secrets where there is no `prepare`. */
  prepareNetwork: NetworkPolicy,
  prepareSecrets: z.array(TemplateSecret),
  /** Identity of what is prepared before the first Session; Computers of equal identity may share a preparation. */
  preparation: Digest,
  /** `null`: kept until it is deleted. */
  deleteAfterUnusedMs: z.int().min(0).nullable(),
})
export type TemplateManifest = Readonly<z.infer<typeof TemplateManifest>>

export const DeploymentManifest = z.strictObject({
  version: z.literal(1),
  /** Digest of the stored bundle archive; its entry file is `index.js`. */
  bundle: Digest,
  agents: z.array(AgentManifest).min(1),
  templates: z.array(TemplateManifest),
})
export type DeploymentManifest = Readonly<z.infer<typeof DeploymentManifest>>
