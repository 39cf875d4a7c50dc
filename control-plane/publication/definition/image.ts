/** The image of a Template: its steps in order, with what a `copy` step reads still to be read. */
import { isAbsolute, normalize } from "node:path/posix"
import { ok, type Result } from "@computerd/protocol/errors"
import { judge } from "@computerd/protocol/judge"
import type { DescribedImageStep, DescribedTemplate } from "@computerd/protocol/program"
import { z } from "zod"
import { invalid } from "./field.ts"

/** A `source.directory` as given; publication reads it once and stores what it found. */
export interface DirectorySource {
  /** Relative to the program directory, or absolute. */
  readonly path: string
  readonly gitignore: boolean
  readonly exclude: readonly string[]
}

export type PlannedStep =
  | { readonly kind: "from"; readonly reference: string }
  | {
      readonly kind: "copy"
      readonly source: DirectorySource
      readonly destination: string
      readonly field: string
    }
  | { readonly kind: "workdir"; readonly path: string }

export interface PlannedImage {
  readonly name: string
  readonly steps: readonly PlannedStep[]
}

const stepsMax = 128
const text = (max: number) =>
  z
    .string()
    .min(1)
    .max(max)
    .refine((value) => !value.includes("\0"), "must not hold a NUL")

const Path = text(4096)
const Reference = text(512).regex(
  /^[\w][\w.\-/:@]*$/,
  "must be an image reference such as node:24-bookworm-slim",
)
const Source = z.object({
  path: Path,
  gitignore: z.boolean().default(false),
  exclude: z.array(text(1024)).max(1000).default([]),
})

const insideRoot = (path: string): boolean => !`${normalize(path)}/`.startsWith("../")

/** Checks one value; the problem is told at `field`, followed by the path inside the value. */
const check = <Value>(schema: z.ZodType<Value>, value: unknown, field: string): Result<Value> => {
  const judged = judge(schema, value)
  if (judged.ok) return judged
  const inner = judged.error.field
  return invalid(`${field}${inner === "" || inner.startsWith("[") ? "" : "."}${inner}`, judged.error.message)
}

const planCopy = (
  step: Extract<DescribedImageStep, { kind: "copy" }>,
  field: string,
): Result<PlannedStep> => {
  const source = check(Source, step.source, `${field}.source`)
  if (!source.ok) return source
  const destination = check(Path, step.destination, `${field}.destination`)
  if (!destination.ok) return destination
  if (!isAbsolute(destination.value) && !insideRoot(destination.value))
    return invalid(`${field}.destination`, "must not lead out of the working directory")
  return ok({ kind: "copy", source: source.value, destination: destination.value, field })
}

const planStep = (step: DescribedImageStep, field: string): Result<PlannedStep> => {
  switch (step.kind) {
    case "from": {
      const reference = check(Reference, step.reference, `${field}.reference`)
      return reference.ok ? ok({ kind: "from", reference: reference.value }) : reference
    }
    case "copy":
      return planCopy(step, field)
    case "workdir": {
      const path = check(Path, step.path, `${field}.path`)
      if (!path.ok) return path
      return isAbsolute(path.value)
        ? ok({ kind: "workdir", path: path.value })
        : invalid(`${field}.path`, "must be an absolute path")
    }
  }
}

export const planImage = (image: DescribedTemplate["image"], field: string): Result<PlannedImage> => {
  if (image === null) return invalid(field, "must be what image() returned")
  const name = check(text(128), image.name, `${field}.name`)
  if (!name.ok) return name
  if (image.steps.length > stepsMax) return invalid(field, `has more than ${stepsMax} steps`)
  const steps: PlannedStep[] = []
  for (const [index, step] of image.steps.entries()) {
    const planned = planStep(step, `${field}.steps[${index}]`)
    if (!planned.ok) return planned
    steps.push(planned.value)
  }
  return ok({ name: name.value, steps })
}
