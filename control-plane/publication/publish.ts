/**
 * Publication: from a program directory to an immutable manifest whose content is stored. Nothing is half published:
 * content is stored under its digest first, and the Deployment exists only when its manifest is added.
 *
 * P1 the same program and sources give the same digests, wherever the program lies
 * P2 nothing of the program directory or of a source is read after publication
 */
import { mkdir } from "node:fs/promises"
import { join } from "node:path"
import { fail, ok, type Result } from "@computerd/protocol/errors"
import type { Digest } from "@computerd/protocol/ids"
import type { DeploymentManifest, ImageStep, TemplateManifest } from "@computerd/protocol/manifest"
import type { Ports } from "../ports.ts"
import { archive } from "./bundle/archive.ts"
import { type BundleDeps, bundleProgram } from "./bundle/bundle.ts"
import { carryPackages } from "./bundle/carry.ts"
import { externalPackages } from "./bundle/external.ts"
import { parseAgents } from "./definition/agents.ts"
import type { PlannedImage, PlannedStep } from "./definition/image.ts"
import { preparationIdentity } from "./definition/preparation.ts"
import { type PlannedTemplate, parseTemplates } from "./definition/templates.ts"
import { type LayerDeps, type StoredLayer, storeLayer } from "./layer/layer.ts"
import type { Ceiling } from "./network/reach.ts"
import { describeProgram } from "./program/describe.ts"
import { findProgram, type Program } from "./program/entry.ts"

export interface PublicationDeps extends BundleDeps, LayerDeps {
  readonly ports: Pick<Ports, "after" | "reach">
  readonly describeCommand: readonly string[]
  /** Private ranges that a network policy may name. */
  readonly ceiling: Ceiling
  /** For the top level of the program. */
  readonly describeTimeoutMs?: number
}

const describeTimeoutDefaultMs = 30_000
/** What a supervisor takes; more belongs into an image. */
const bundleMaxBytes = 1024 * 1024 * 1024

export interface Publication {
  readonly manifest: DeploymentManifest
  /** What the author should know and what does not prevent publication. */
  readonly notices: readonly string[]
}

/** Environment of the process that loads the program at publication. */
type Variables = Readonly<Record<string, string>>

const buildBundle = async (
  program: Program,
  staged: string,
  deps: PublicationDeps,
): Promise<Result<string>> => {
  const directory = join(staged, "bundle")
  await mkdir(directory, { mode: 0o700 })
  const bundled = await bundleProgram(program, directory, deps)
  if (!bundled.ok) return bundled
  const packages = await externalPackages(program.external, program.directory)
  if (!packages.ok) return packages
  await carryPackages(packages.value, directory)
  return ok(directory)
}

const describe = async (bundle: string, staged: string, variables: Variables, deps: PublicationDeps) => {
  const cwd = join(staged, "empty")
  await mkdir(cwd, { mode: 0o700 })
  return describeProgram(
    { bundlePath: join(bundle, "index.js"), outputFile: join(staged, "description.json"), cwd, variables },
    {
      ports: deps.ports,
      environment: deps.environment,
      command: deps.describeCommand,
      timeoutMs: deps.describeTimeoutMs ?? describeTimeoutDefaultMs,
      signal: deps.signal,
    },
  )
}

/** Templates often share a source; each is read once, and both get the very same layer. */
type ReadLayer = (step: CopyStep) => Promise<Result<StoredLayer>>
type CopyStep = Extract<PlannedStep, { kind: "copy" }>

const layerReader = (programDirectory: string, deps: PublicationDeps): ReadLayer => {
  const read = new Map<string, Promise<Result<StoredLayer>>>()
  return ({ source, field }) => {
    const key = JSON.stringify(source)
    const known = read.get(key) ?? storeLayer(source, { programDirectory, field }, deps)
    read.set(key, known)
    return known
  }
}

const storeImage = async (
  image: PlannedImage,
  readLayer: ReadLayer,
): Promise<Result<{ readonly steps: ImageStep[]; readonly notices: readonly string[] }>> => {
  const steps: ImageStep[] = []
  const notices: string[] = []
  for (const step of image.steps) {
    if (step.kind !== "copy") {
      steps.push(step)
      continue
    }
    const layer = await readLayer(step)
    if (!layer.ok) return layer
    steps.push({ kind: "copy", layer: layer.value.digest, destination: step.destination })
    notices.push(...layer.value.notices.map((notice) => `${step.field}: ${notice}`))
  }
  return ok({ steps, notices })
}

type StoredTemplate = Omit<TemplateManifest, "preparation">

const storeTemplates = async (
  planned: readonly PlannedTemplate[],
  program: Program,
  deps: PublicationDeps,
): Promise<
  Result<{ readonly templates: readonly StoredTemplate[]; readonly notices: readonly string[] }>
> => {
  const templates: StoredTemplate[] = []
  const notices: string[] = []
  const readLayer = layerReader(program.directory, deps)
  for (const { image, ...template } of planned) {
    const stored = await storeImage(image, readLayer)
    if (!stored.ok) return stored
    templates.push({ ...template, image: { name: image.name, steps: stored.value.steps } })
    notices.push(...stored.value.notices)
  }
  return ok({ templates: templates.toSorted((a, b) => (a.id < b.id ? -1 : 1)), notices })
}

const storeBundle = async (
  bundle: string,
  staged: string,
  deps: PublicationDeps,
): Promise<Result<Digest>> => {
  const file = join(staged, "bundle.tar")
  const digest = await archive(bundle, file)
  if (Bun.file(file).size > bundleMaxBytes)
    return fail("bundle_failed", `the bundle is larger than ${bundleMaxBytes} bytes; carry fewer packages`)
  deps.ports.reach("content.before_keeping")
  await deps.content.keep(file, deps.content.bundleFile(digest))
  deps.ports.reach("content.after_keeping")
  return ok(digest)
}

const publishStaged = async (
  program: Program,
  staged: string,
  variables: Variables,
  deps: PublicationDeps,
): Promise<Result<Publication>> => {
  const bundle = await buildBundle(program, staged, deps)
  if (!bundle.ok) return bundle
  const described = await describe(bundle.value, staged, variables, deps)
  if (!described.ok) return described
  const planned = parseTemplates(described.value.templates, deps.ceiling)
  if (!planned.ok) return planned
  const agents = parseAgents(described.value.agents, planned.value)
  if (!agents.ok) return agents
  const stored = await storeTemplates(planned.value, program, deps)
  if (!stored.ok) return stored
  const digest = await storeBundle(bundle.value, staged, deps)
  if (!digest.ok) return digest
  const manifest = {
    version: 1 as const,
    bundle: digest.value,
    agents: [...agents.value],
    templates: stored.value.templates.map((template) => ({
      ...template,
      preparation: preparationIdentity(template, digest.value),
    })),
  }
  return ok({ manifest, notices: stored.value.notices })
}

const givenUp = fail("interrupted", "the publication was given up; nothing was published")

export const publishProgram = async (
  directory: string,
  variables: Variables,
  deps: PublicationDeps,
): Promise<Result<Publication>> => {
  const program = await findProgram(directory)
  if (!program.ok) return program
  const staged = await deps.content.stage()
  try {
    const published = await publishStaged(program.value, staged, variables, deps)
    return deps.signal?.aborted === true ? givenUp : published
  } catch (error) {
    if (deps.signal?.aborted === true) return givenUp
    const reason = error instanceof Error ? error.message : "unknown reason"
    return fail("store_unavailable", `the content of the program cannot be stored: ${reason}`)
  } finally {
    await deps.content.discard(staged)
  }
}
