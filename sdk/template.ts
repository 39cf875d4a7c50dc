/** The recipe of a Computer. */
import { definition } from "./definition.ts"
import type { Image } from "./image.ts"
import type { ByteSize, Duration } from "./units.ts"

/**
 * A host name (`api.example.com`, or `*.example.com` for any depth below it) at public addresses; or one, all of whose
 * addresses must lie in these IPv4 ranges.
 */
export type AllowedDomain = string | { readonly domain: string; readonly ipRanges: readonly string[] }

/** Outbound traffic. Absent: ordinary connectivity. An allowlist and `blockAll` exclude each other. */
export type NetworkPolicy =
  | { readonly allowDomains: readonly AllowedDomain[]; readonly blockAll?: never }
  | { readonly blockAll: boolean; readonly allowDomains?: never }

export interface TemplateSecret {
  /** Its name; the value is never part of a program. */
  readonly secret: string
  readonly env: {
    readonly name: string
    /** The value never enters the Computer; it is put into requests to these origins only. */
    readonly mode: "protected"
    /** At least one, such as `https://api.example.com`. */
    readonly allowedOrigins: readonly string[]
  }
}

export interface PrepareContext {
  /** Runs one command on the Computer; rejects when it does not exit with 0. */
  exec(argv: readonly string[], options?: { readonly cwd?: string }): Promise<void>
}

/** What happens before the first Session. */
type Preparation =
  | {
      /** Runs once when a Computer is made. */
      prepare(ctx: PrepareContext): void | Promise<void>
      /** Replaces `network` as a whole while `prepare` runs. */
      readonly prepareNetwork?: NetworkPolicy
      /** Those of `prepare`; it has none of the others. */
      readonly prepareSecrets?: readonly TemplateSecret[]
    }
  /** Nothing runs and nothing is reached. */
  | { readonly prepare?: never; readonly prepareNetwork?: never; readonly prepareSecrets?: readonly [] }

export type TemplateSpec = Preparation & {
  readonly id: string
  readonly image: Image
  readonly resources: { readonly cpu: number; readonly memory: ByteSize }
  readonly network?: NetworkPolicy
  readonly secrets?: readonly TemplateSecret[]
  /** How long a Computer that nobody uses is kept; `null`: until it is deleted. */
  readonly deleteAfterUnused?: Duration | null
}

export type Template = TemplateSpec & { readonly [definition]: "template" }

/** Judges nothing: publication does, and names the field that is wrong. */
export const template = (spec: TemplateSpec): Template =>
  Object.freeze({ ...spec, [definition]: "template" as const })
