/**
 * Where the copy steps of an image go. Pure. On this driver the workspace stands for the image's final workdir, so a
 * destination below the workdir is one below the workspace; anything else has no place here.
 */
import { isAbsolute, normalize, relative, resolve } from "node:path/posix"
import type { Digest } from "@computerd/protocol/ids"
import type { ImageStep } from "@computerd/protocol/manifest"

export type CopyPlan =
  /** `path` is relative to the workspace; "" is the workspace itself. */
  | { readonly kind: "inside"; readonly layer: Digest; readonly path: string }
  | { readonly kind: "outside"; readonly layer: Digest; readonly destination: string }

const rootDirectory = "/"

const workdirAfter = (steps: readonly ImageStep[]): string =>
  steps.reduce((at, step) => (step.kind === "workdir" ? normalize(step.path) : at), rootDirectory)

export const copyPlans = (steps: readonly ImageStep[]): readonly CopyPlan[] => {
  const workdir = workdirAfter(steps)
  return steps.flatMap((step, index): readonly CopyPlan[] => {
    if (step.kind !== "copy") return []
    // A relative destination is below the workdir that is in force at this step; before the first, the final one.
    const current = workdirAfter(steps.slice(0, index))
    const base = current === rootDirectory ? workdir : current
    const destination = isAbsolute(step.destination)
      ? normalize(step.destination)
      : resolve(base, step.destination)
    const path = relative(workdir, destination)
    return path === ".." || path.startsWith("../")
      ? [{ kind: "outside", layer: step.layer, destination }]
      : [{ kind: "inside", layer: step.layer, path }]
  })
}
