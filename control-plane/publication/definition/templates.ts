/** The Templates of a program: what their author wrote, judged and resolved. */
import { ok, type Result } from "@computerd/protocol/errors"
import { DefinitionKey } from "@computerd/protocol/ids"
import { judge } from "@computerd/protocol/judge"
import type { TemplateManifest } from "@computerd/protocol/manifest"
import type { DescribedTemplate } from "@computerd/protocol/program"
import { z } from "zod"
import type { Ceiling } from "../network/reach.ts"
import { parseDuration } from "./duration.ts"
import { invalid, label } from "./field.ts"
import { type PlannedImage, planImage } from "./image.ts"
import { resolvePolicies } from "./policies.ts"
import { parseMemory } from "./size.ts"

/** A Template whose copy steps still name directories instead of stored layers, so that its preparation has no identity. */
export type PlannedTemplate = Omit<TemplateManifest, "image" | "preparation"> & {
  readonly image: PlannedImage
}

/** Above this the manifest no longer fits where it is read. */
const templatesMax = 1000
const cpuMax = 1024
const Resources = z.strictObject({ cpu: z.unknown(), memory: z.unknown() })

const parseResources = (value: unknown, field: string): Result<TemplateManifest["resources"]> => {
  const judged = judge(Resources, value)
  if (!judged.ok)
    return judged.error.field === ""
      ? invalid(field, 'must be { cpu, memory }, such as { cpu: 1, memory: "1GiB" }')
      : invalid(`${field}.${judged.error.field}`, judged.error.message)
  const { cpu } = judged.value
  if (typeof cpu !== "number" || !(cpu > 0 && cpu <= cpuMax))
    return invalid(`${field}.cpu`, `must be a number above 0 and at most ${cpuMax}`)
  const memory = parseMemory(judged.value.memory, `${field}.memory`)
  return memory.ok ? ok({ cpu, memoryBytes: memory.value }) : memory
}

const parseTemplate = (template: DescribedTemplate, ceiling: Ceiling): Result<PlannedTemplate> => {
  const at = label("templates", template.id, template.exportName)
  const id = judge(DefinitionKey, template.id)
  if (!id.ok) return invalid(`${at}.id`, id.error.message)
  const [unknown] = template.unknownFields
  if (unknown !== undefined) return invalid(`${at}.${unknown}`, "is not a field of template()")
  const image = planImage(template.image, `${at}.image`)
  if (!image.ok) return image
  const resources = parseResources(template.resources, `${at}.resources`)
  if (!resources.ok) return resources
  if (template.prepare !== undefined) return invalid(`${at}.prepare`, "must be a function")
  const policies = resolvePolicies(template, { at, ceiling })
  if (!policies.ok) return policies
  const deleteAfterUnused = parseDuration(template.deleteAfterUnused, `${at}.deleteAfterUnused`)
  if (!deleteAfterUnused.ok) return deleteAfterUnused
  return ok({
    id: id.value,
    image: image.value,
    resources: resources.value,
    ...policies.value,
    hasPrepare: template.hasPrepare,
    deleteAfterUnusedMs: deleteAfterUnused.value,
  })
}

/** In the order of the description, to which its Agents refer. */
export const parseTemplates = (
  templates: readonly DescribedTemplate[],
  ceiling: Ceiling,
): Result<readonly PlannedTemplate[]> => {
  if (templates.length > templatesMax) return invalid("templates", `has more than ${templatesMax} entries`)
  const parsed: PlannedTemplate[] = []
  for (const template of templates) {
    const one = parseTemplate(template, ceiling)
    if (!one.ok) return one
    if (parsed.some((other) => other.id === one.value.id))
      return invalid(
        `${label("templates", one.value.id, null)}.id`,
        "is the id of two Templates; give each its own",
      )
    parsed.push(one.value)
  }
  return ok(parsed)
}
