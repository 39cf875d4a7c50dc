/** `computerd fleet …` as a value: what is asked of a control plane's public API, or of its keys. */
import type { Permission } from "@computerd/protocol/api/permissions"
import type { ApiKeyId, EnvironmentKey } from "@computerd/protocol/ids"

/** Given on the command line, or read from standard input. */
export type GivenText = { readonly kind: "text"; readonly text: string } | { readonly kind: "stdin" }

/** What is done once work has been accepted: nothing, or its end is waited for without or with a look at it. */
export type Afterwards = "leave" | "wait" | "follow"

interface Keyed {
  readonly idempotencyKey: string | undefined
}

interface Listing {
  /** At most so many rows. */
  readonly limit: number
}

interface OfSession {
  readonly sessionId: string
}

export interface SessionFilters {
  readonly status: "open" | "closing" | "closed" | undefined
  readonly agent: string | undefined
  readonly key: string | undefined
  readonly computerId: string | undefined
  readonly rootSessionId: string | undefined
}

export interface StartWork extends Keyed {
  readonly verb: "start"
  readonly agent: string
  readonly input: GivenText
  readonly sessionKey: string | undefined
  readonly computerId: string | undefined
  readonly afterwards: Afterwards
}

export interface EnqueueWork extends Keyed, OfSession {
  readonly verb: "enqueue"
  readonly input: GivenText
  readonly afterwards: Afterwards
}

export interface WaitWork extends OfSession {
  readonly verb: "wait"
  readonly turnId: string
  /** Absent: as long as it takes. */
  readonly timeoutMs: number | undefined
}

export interface FollowWork extends OfSession {
  readonly verb: "follow"
  /** The cursor of the last event that was seen. */
  readonly after: string | undefined
}

export type FleetWork =
  | (Keyed & { readonly verb: "deploy"; readonly directory: string; readonly gitignore: boolean })
  | (Listing & { readonly verb: "deployments" })
  | (Listing & { readonly verb: "agents" | "templates"; readonly deploymentId: string | undefined })
  | StartWork
  | (Listing & SessionFilters & { readonly verb: "sessions" })
  | (OfSession & { readonly verb: "session" })
  | EnqueueWork
  | (Keyed & OfSession & { readonly verb: "send"; readonly turnId: string; readonly message: GivenText })
  | WaitWork
  | FollowWork
  | (Keyed & OfSession & { readonly verb: "interrupt"; readonly turnId: string | undefined })
  | (Keyed & OfSession & { readonly verb: "resume"; readonly holdId: string })
  | (Keyed & OfSession & { readonly verb: "close" | "cancel" })
  | (OfSession & { readonly verb: "questions" })
  | (Keyed & OfSession & { readonly verb: "answer"; readonly questionId: string; readonly text: GivenText })
  | (Listing & {
      readonly verb: "computers"
      readonly status: "available" | "deleting" | "deleted" | undefined
    })
  | (Keyed & {
      readonly verb: "computers create"
      readonly template: string
      readonly key: string | undefined
    })
  | (Keyed & { readonly verb: "computers delete"; readonly computerId: string })

export type KeyWork =
  | { readonly verb: "list" }
  | {
      readonly verb: "create"
      readonly name: string
      readonly permissions: readonly Permission[]
      readonly environment: EnvironmentKey
      /** Where the text of the key is written, for its owner alone; absent: to standard output. */
      readonly out: string | undefined
    }
  | { readonly verb: "revoke"; readonly keyId: ApiKeyId }

export type FleetCommand =
  | { readonly verb: "fleet help" }
  | {
      readonly verb: "fleet"
      readonly work: FleetWork
      /** Absent: HELMR_URL says it. */
      readonly url: string | undefined
      /** Absent: HELMR_API_KEY is the key. */
      readonly keyFile: string | undefined
      readonly json: boolean
    }
  | {
      readonly verb: "fleet keys"
      readonly work: KeyWork
      /** Of the control plane. */
      readonly state: string
      readonly json: boolean
    }
