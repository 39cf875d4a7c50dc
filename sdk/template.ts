/** The recipe of a Computer. */
import { definition } from "./definition.ts"
import type { Image } from "./image.ts"
import type { ByteSize, Duration } from "./units.ts"

/** A host name (`api.example.com`, or `*.example.com` for what lies below it), or one bound to address ranges. */
export type AllowedDomain = string | { readonly domain: string; readonly ipRanges: readonly string[] }

/** Outbound traffic. Absent: ordinary connectivity. An allowlist and `blockAll` exclude each other. */
export type NetworkPolicy =
  | { readonly allowDomains: readonly AllowedDomain[]; readonly blockAll?: never }
  | { readonly blockAll: boolean; readonly allowDomains?: never }

export interface TemplateSecret {
  readonly secret: string
  readonly env: {
    readonly name: string
    /** The value never enters the Computer; it is put into requests to these origins only. */
    readonly mode: "protected"
    readonly allowedOrigins: readonly string[]
  }
}

export interface PrepareContext {
  /** Runs one command on the Computer; rejects when it does not exit with 0. */
  exec(argv: readonly string[], options?: { readonly cwd?: string }): Promise<void>
}

export interface TemplateSpec {
  readonly id: string
  readonly image: Image
  readonly resources: { readonly cpu: number; readonly memory: ByteSize }
  readonly network?: NetworkPolicy
  /** Replaces `network` while `prepare` runs. */
  readonly prepareNetwork?: NetworkPolicy
  readonly secrets?: readonly TemplateSecret[]
  readonly prepareSecrets?: readonly TemplateSecret[]
  /** Runs once when a Computer is made, before any Session. */
  prepare?(ctx: PrepareContext): void | Promise<void>
  /** How long a Computer that nobody uses is kept; `null`: until it is deleted. */
  readonly deleteAfterUnused?: Duration | null
}

export interface Template extends TemplateSpec {
  readonly [definition]: "template"
}

/** Judges nothing: publication does, and names the field that is wrong. */
export const template = (spec: TemplateSpec): Template =>
  Object.freeze({ ...spec, [definition]: "template" as const })
