/**
 * The Templates of a program. Network and secret policies are carried as their author wrote them: what a driver
 * cannot honour keeps its Computers pending, so nothing here reads a policy as "open".
 */
import { type Json, JsonValue } from "@computerd/protocol/content"
import { ok, type Result } from "@computerd/protocol/errors"
import { DefinitionKey } from "@computerd/protocol/ids"
import { judge } from "@computerd/protocol/judge"
import type { TemplateManifest } from "@computerd/protocol/manifest"
import type { DescribedTemplate } from "@computerd/protocol/program"
import { z } from "zod"
import { parseDuration } from "./duration.ts"
import { invalid, label } from "./field.ts"
import { type PlannedImage, planImage } from "./image.ts"
import { parseMemory } from "./size.ts"

/** A Template whose copy steps still name directories instead of stored layers. */
export type PlannedTemplate = Omit<TemplateManifest, "image"> & { readonly image: PlannedImage }

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

const policyNames = ["network", "prepareNetwork", "secrets", "prepareSecrets"] as const
type Policies = Partial<Record<(typeof policyNames)[number], Json>>

const parsePolicies = (template: DescribedTemplate, at: string): Result<Policies> => {
  const policies: Policies = {}
  for (const name of policyNames) {
    if (template[name] === undefined) continue
    const value = JsonValue.safeParse(template[name])
    if (!value.success) return invalid(`${at}.${name}`, "must be a value that JSON can hold")
    policies[name] = value.data
  }
  const seeds = policies.prepareSecrets
  if (template.hasPrepare) return ok(policies)
  if (policies.prepareNetwork !== undefined)
    return invalid(
      `${at}.prepareNetwork`,
      "needs a prepare function; without one preparation is fully blocked",
    )
  if (seeds !== undefined && !(Array.isArray(seeds) && seeds.length === 0))
    return invalid(`${at}.prepareSecrets`, "needs a prepare function; without one it must be empty")
  return ok(policies)
}

const parseTemplate = (template: DescribedTemplate): Result<PlannedTemplate> => {
  const at = label("templates", template.id, template.exportName)
  const id = judge(DefinitionKey, template.id)
  if (!id.ok) return invalid(`${at}.id`, id.error.message)
  const [unknown] = template.unknownFields
  if (unknown !== undefined) return invalid(`${at}.${unknown}`, "is not a field of template()")
  const image = planImage(template.image, `${at}.image`)
  if (!image.ok) return image
  const resources = parseResources(template.resources, `${at}.resources`)
  if (!resources.ok) return resources
  const policies = parsePolicies(template, at)
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
): Result<readonly PlannedTemplate[]> => {
  const parsed: PlannedTemplate[] = []
  for (const template of templates) {
    const one = parseTemplate(template)
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
