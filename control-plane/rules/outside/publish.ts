/** A Deployment that was published from outside, with the receipt of its upload. */
import { ok, type Result } from "@computerd/protocol/errors"
import type { DeploymentManifest } from "@computerd/protocol/manifest"
import type { Answer } from "../admission.ts"
import { retained } from "../receipts.ts"
import { type DecideOutside, type OutsideCall, outsideMutation, outsideRequest } from "./call.ts"

export interface Upload {
  readonly idempotencyKey: string
  /** What was uploaded, as its digest: the same program under the same key is the same request. */
  readonly archive: string
}

export interface Publication {
  readonly manifest: DeploymentManifest
  readonly notices: readonly string[]
}

const tool = "publishDeployment"

/** What this upload was answered before, which spares publishing it again. */
export const earlierPublication = (call: OutsideCall<Upload>): Result<Answer | undefined> => {
  const receipt = retained(call.draft, outsideRequest(tool, call))
  return receipt.ok ? ok(receipt.value?.answer) : receipt
}

export const publishFromOutside = ({ manifest, notices }: Publication): DecideOutside<Upload> =>
  outsideMutation<Upload, undefined>(tool, {
    resolve: () => ok(undefined),
    effect: ({ draft, environment, given }) => {
      const id = given.newId("dep")
      draft.addDeployment({ id, environment, manifest, createdAt: given.now })
      return ok({ deploymentId: id, notices: [...notices] })
    },
  })
