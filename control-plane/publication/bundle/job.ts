/** What publication asks of the bundling process, and what it answers. */
import { z } from "zod"

export const BundleJob = z.strictObject({
  directory: z.string(),
  entry: z.string(),
  external: z.array(z.string()),
  /** Directory whose `node_modules` holds what a program may lack. */
  fallbackRoot: z.string(),
  fallbackNames: z.array(z.string()),
  outputDirectory: z.string(),
})
export type BundleJob = Readonly<z.infer<typeof BundleJob>>

export const BundleProblem = z.strictObject({
  message: z.string(),
  /** Relative to the program directory; `null` when no place is known. */
  file: z.string().nullable(),
  line: z.int().nullable(),
  column: z.int().nullable(),
})
export type BundleProblem = Readonly<z.infer<typeof BundleProblem>>

export const BundleAnswer = z.union([
  z.strictObject({ ok: z.literal(true) }),
  z.strictObject({ ok: z.literal(false), problems: z.array(BundleProblem).min(1) }),
])
export type BundleAnswer = Readonly<z.infer<typeof BundleAnswer>>
