/** `client.templates`: recipes of Computers, with everything that publication resolved. */
import { templateRoutes } from "@computerd/protocol/api/templates"
import type { AllowedDomain, TemplateSecret } from "../template.ts"
import type { PinOptions } from "./agents.ts"
import { type PageOptions, pageOf } from "./paging.ts"
import type { Transport } from "./transport/transport.ts"

/** In normal form: ordinary connectivity is `{ blockAll: false }`, an empty allowlist `{ blockAll: true }`. */
export type ResolvedNetwork =
  | { readonly blockAll: boolean }
  | { readonly allowDomains: readonly AllowedDomain[] }

export type ResolvedImageStep =
  | { readonly kind: "from"; readonly reference: string }
  /** `layer` is the digest of what is copied. */
  | { readonly kind: "copy"; readonly layer: string; readonly destination: string }
  | { readonly kind: "workdir"; readonly path: string }

/** A Template as a Deployment pins it. */
export interface DeployedTemplate {
  readonly id: string
  readonly deploymentId: string
  readonly image: { readonly name: string; readonly steps: readonly ResolvedImageStep[] }
  readonly resources: { readonly cpu: number; readonly memoryBytes: number }
  readonly network: ResolvedNetwork
  readonly secrets: readonly TemplateSecret[]
  readonly hasPrepare: boolean
  /** Of the time before the first Session: full blocking and no secrets where there is no `prepare`. */
  readonly prepareNetwork: ResolvedNetwork
  readonly prepareSecrets: readonly TemplateSecret[]
  /** Identity of what is prepared before the first Session. */
  readonly preparation: string
  /** `null`: kept until it is deleted. */
  readonly deleteAfterUnusedMs: number | null
}

export interface TemplatePage {
  readonly deploymentId: string
  readonly templates: readonly DeployedTemplate[]
  readonly nextCursor?: string | undefined
}

export interface Templates {
  readonly get: (template: string, options?: PinOptions) => Promise<DeployedTemplate>
  readonly list: (options?: PinOptions & PageOptions) => Promise<TemplatePage>
}

export const createTemplates = (transport: Transport): Templates => ({
  get: (template, { deploymentId, ...settings } = {}) =>
    transport.call(
      { route: templateRoutes.get, params: { template }, query: { deploymentId }, body: undefined },
      settings,
    ),
  list: (options = {}) => {
    const query = { ...pageOf(options), deploymentId: options.deploymentId }
    return transport.call({ route: templateRoutes.list, params: {}, query, body: undefined }, options)
  },
})
