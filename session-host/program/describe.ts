/**
 * A loaded program as publication sees it: every exported Agent and every distinct Template, in a stable order, with
 * functions replaced by flags. Nothing is judged here; what JSON cannot hold is marked, so that publication can name it.
 */
import type {
  DescribedAgent,
  DescribedImageStep,
  DescribedTemplate,
  ProgramDescription,
} from "@computerd/protocol/program"
import { type Exported, exportsOf, isCallable, isDefinition } from "./definitions.ts"
import { describable } from "./describable.ts"

type Fields = Readonly<Record<string, unknown>>

const agentFields = ["id", "template", "runtimeMcp", "closeAfterIdle", "init", "turn"]
const templateFields = [
  "id",
  "image",
  "resources",
  "network",
  "prepareNetwork",
  "secrets",
  "prepareSecrets",
  "prepare",
  "deleteAfterUnused",
]

const unknownFields = (value: Fields, known: readonly string[]): string[] =>
  Object.keys(value).filter((name) => !known.includes(name))

/** Fields that the author set, under their own names. */
const given = <const Name extends string>(
  value: Fields,
  names: readonly Name[],
): { [Key in Name]?: unknown } => {
  const fields: { [Key in Name]?: unknown } = {}
  for (const name of names) if (value[name] !== undefined) fields[name] = describable(value[name])
  return fields
}

const describeStep = (step: unknown): DescribedImageStep[] => {
  if (typeof step !== "object" || step === null || !("kind" in step)) return []
  const fields: Fields = { ...step }
  switch (step.kind) {
    case "from":
      return [{ kind: "from", reference: describable(fields["reference"]) }]
    case "workdir":
      return [{ kind: "workdir", path: describable(fields["path"]) }]
    case "copy":
      return [describeCopy(fields)]
    default:
      return []
  }
}

const describeCopy = (step: Fields): DescribedImageStep => {
  const source = step["source"]
  // Anything but the result of source.directory() leaves the path for publication to refuse.
  const { path, gitignore, exclude } = isDefinition(source, "directory")
    ? source
    : { path: null, gitignore: true, exclude: [] }
  return {
    kind: "copy",
    source: {
      kind: "directory",
      path: describable(path),
      gitignore: describable(gitignore),
      exclude: describable(exclude),
    },
    destination: describable(step["destination"]),
  }
}

const describeImage = (image: unknown): DescribedTemplate["image"] => {
  if (!isDefinition(image, "image")) return null
  const steps = Array.isArray(image["steps"]) ? image["steps"] : []
  return { name: describable(image["name"]), steps: steps.flatMap(describeStep) }
}

const describeTemplate = (value: Fields, exportName: string | null): DescribedTemplate => ({
  exportName,
  id: describable(value["id"]),
  image: describeImage(value["image"]),
  resources: describable(value["resources"]),
  ...given(value, ["network", "prepareNetwork", "secrets", "prepareSecrets", "deleteAfterUnused"]),
  hasPrepare: isCallable(value["prepare"]),
  ...(isCallable(value["prepare"]) ? {} : given(value, ["prepare"])),
  unknownFields: unknownFields(value, templateFields),
})

const describeAgent = (
  { name, value }: Exported & { readonly value: Fields },
  templates: readonly Fields[],
): DescribedAgent => {
  const index = [...templates.keys()].find((at) => templates[at] === value["template"])
  return {
    exportName: name,
    id: describable(value["id"]),
    template: index ?? null,
    ...given(value, ["runtimeMcp", "closeAfterIdle"]),
    hasInit: isCallable(value["init"]),
    hasTurn: isCallable(value["turn"]),
    unknownFields: unknownFields(value, agentFields),
  }
}

export const describeProgram = (module: object): ProgramDescription => {
  const exported = exportsOf(module)
  const agents = exported.flatMap(({ name, value }) =>
    isDefinition(value, "agent") ? [{ name, value }] : [],
  )
  const named = new Map<Fields, string | null>()
  for (const { name, value } of exported) if (isDefinition(value, "template")) named.set(value, name)
  for (const { value } of agents) {
    const { template } = value
    if (isDefinition(template, "template") && !named.has(template)) named.set(template, null)
  }
  const templates = [...named.keys()]
  return {
    ok: true,
    agents: agents.map((one) => describeAgent(one, templates)),
    templates: [...named].map(([value, name]) => describeTemplate(value, name)),
  }
}
