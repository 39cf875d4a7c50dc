/** One look at the state of an Environment. */
import type { Result } from "@computerd/protocol/errors"
import type { EnvironmentKey } from "@computerd/protocol/ids"
import type { Given } from "../../rules/given.ts"
import type { Where } from "../../rules/outside/reach.ts"
import type { Parts } from "../parts.ts"

export interface PageAsked {
  readonly cursor?: string | undefined
  readonly limit: number
}

export interface Look extends Where {
  readonly given: Given
}

export const looker =
  ({ commits }: Parts) =>
  <Value>(environment: EnvironmentKey, work: (look: Look) => Result<Value>): Result<Value> =>
    commits.look((draft, given) => work({ draft, environment, given }))

/** The cursor of a page, for the answer that holds its rows. */
export const next = (page: { readonly nextCursor?: string }): { readonly nextCursor?: string } =>
  page.nextCursor === undefined ? {} : { nextCursor: page.nextCursor }
