/** What became of the audit of one folder. */
import type { Findings } from "../audit/findings.ts"

export type FolderOutcome =
  | { readonly kind: "audited"; readonly findings: Findings }
  | {
      readonly kind: "failed"
      readonly folder: string
      /** The code of the Turn or of the call that failed. */
      readonly code: string
      readonly message: string | null
    }

export const auditedOf = (outcomes: readonly FolderOutcome[]): readonly Findings[] =>
  outcomes.flatMap((outcome) => (outcome.kind === "audited" ? [outcome.findings] : []))

export const failedOf = (outcomes: readonly FolderOutcome[]) =>
  outcomes.flatMap((outcome) => (outcome.kind === "failed" ? [outcome] : []))
