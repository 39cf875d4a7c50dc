/**
 * What a program declares, as the session host's `describe` reports it to publication: the exported definitions
 * with functions replaced by flags. Publication judges the values; nothing here is validated beyond its shape.
 */
import { z } from "zod"

export const DescribedImageStep = z.discriminatedUnion("kind", [
  z.strictObject({ kind: z.literal("from"), reference: z.unknown() }),
  z.strictObject({
    kind: z.literal("copy"),
    /** As given to `source.directory`: relative to the program directory, or absolute. */
    source: z.strictObject({
      kind: z.literal("directory"),
      path: z.unknown(),
      /** Leave out what `.gitignore` files and git's own exclude file name, unless git tracks it. */
      gitignore: z.unknown(),
      /** Further gitignore-style patterns to leave out. */
      exclude: z.unknown(),
    }),
    destination: z.unknown(),
  }),
  z.strictObject({ kind: z.literal("workdir"), path: z.unknown() }),
])
export type DescribedImageStep = z.infer<typeof DescribedImageStep>

export const DescribedTemplate = z.strictObject({
  /** Name of the export, for messages; `null` when the Template is only referenced by an Agent. */
  exportName: z.string().nullable(),
  id: z.unknown(),
  image: z.strictObject({ name: z.unknown(), steps: z.array(DescribedImageStep) }).nullable(),
  resources: z.unknown(),
  network: z.unknown().optional(),
  prepareNetwork: z.unknown().optional(),
  secrets: z.unknown().optional(),
  prepareSecrets: z.unknown().optional(),
  hasPrepare: z.boolean(),
  /** What stands in the place of a function. */
  prepare: z.unknown().optional(),
  deleteAfterUnused: z.unknown().optional(),
  /** Fields that `template()` does not know. */
  unknownFields: z.array(z.string()),
})
export type DescribedTemplate = z.infer<typeof DescribedTemplate>

export const DescribedAgent = z.strictObject({
  exportName: z.string(),
  id: z.unknown(),
  /** Index into `templates`; `null` when it is not the result of `template()`. */
  template: z.int().min(0).nullable(),
  /** Absent: the author left it out. */
  runtimeMcp: z.unknown().optional(),
  closeAfterIdle: z.unknown().optional(),
  hasInit: z.boolean(),
  hasTurn: z.boolean(),
  unknownFields: z.array(z.string()),
})
export type DescribedAgent = z.infer<typeof DescribedAgent>

export const ProgramDescription = z.union([
  z.strictObject({
    ok: z.literal(true),
    agents: z.array(DescribedAgent),
    /** Each distinct Template object once: exported or referenced by an exported Agent. */
    templates: z.array(DescribedTemplate),
  }),
  /** The bundle could not be loaded: its top level threw. */
  z.strictObject({ ok: z.literal(false), message: z.string() }),
])
export type ProgramDescription = z.infer<typeof ProgramDescription>
