/** Reads one `source.directory` and stores it as a layer. Nothing reads the source afterwards. */
import { realpath, stat } from "node:fs/promises"
import { join, resolve } from "node:path"
import { failure, ok, type Result } from "@computerd/protocol/errors"
import type { Digest } from "@computerd/protocol/ids"
import type { ContentStore } from "../content/store.ts"
import { invalid } from "../definition/field.ts"
import type { DirectorySource } from "../definition/image.ts"
import { copyLayer } from "./copy.ts"
import { inheritedPatterns, patterns } from "./ignored.ts"
import { select } from "./select.ts"
import { repositoryRoot, type TrackedDeps, trackedFiles } from "./tracked.ts"

export interface LayerDeps extends TrackedDeps {
  readonly content: ContentStore
  readonly stateDirectory: string
  /** The program came from elsewhere: nothing outside of its own directory is its to read, and no repository is asked. */
  readonly confined?: boolean
}

export interface StoredLayer {
  readonly digest: Digest
  readonly notices: readonly string[]
}

const isWithin = (path: string, directory: string): boolean =>
  path === directory || path.startsWith(`${directory}/`)

const confine = async (found: string, place: Place): Promise<Result<string>> =>
  isWithin(found, await realpath(place.programDirectory))
    ? ok(found)
    : invalid(
        `${place.field}.source`,
        "must lie inside the program's own directory, which is all that was uploaded",
      )

interface Place {
  readonly programDirectory: string
  readonly field: string
}

const locate = async (
  source: DirectorySource,
  programDirectory: string,
  field: string,
): Promise<Result<string>> => {
  const directory = resolve(programDirectory, source.path)
  try {
    const found = await realpath(directory)
    return (await stat(found)).isDirectory()
      ? ok(found)
      : invalid(`${field}.source`, `is not a directory: ${directory}`)
  } catch {
    return invalid(`${field}.source`, `does not exist or cannot be read: ${directory}`)
  }
}

const gitOf = async (directory: string, deps: LayerDeps) => {
  const root = deps.confined === true ? undefined : await repositoryRoot(directory)
  return {
    tracked:
      root === undefined
        ? { files: new Set<string>(), directories: new Set<string>() }
        : await trackedFiles(directory, deps),
    inherited: await inheritedPatterns(directory, root),
  }
}

const store = async (source: DirectorySource, directory: string, deps: LayerDeps): Promise<StoredLayer> => {
  const selection = await select({
    directory,
    git: source.gitignore ? await gitOf(directory, deps) : undefined,
    exclude: patterns("", source.exclude),
    ownState: await realpath(deps.stateDirectory),
    signal: deps.signal,
  })
  const staged = await deps.content.stage()
  try {
    const content = join(staged, "content")
    const digest = await copyLayer(selection.entries, {
      source: directory,
      target: content,
      signal: deps.signal,
    })
    await deps.content.keep(content, deps.content.layerDirectory(digest))
    return { digest, notices: selection.notices }
  } finally {
    await deps.content.discard(staged)
  }
}

export const storeLayer = async (
  source: DirectorySource,
  place: Place,
  deps: LayerDeps,
): Promise<Result<StoredLayer>> => {
  const found = await locate(source, place.programDirectory, place.field)
  if (!found.ok) return found
  const directory = deps.confined === true ? await confine(found.value, place) : found
  if (!directory.ok) return directory
  try {
    return ok(await store(source, directory.value, deps))
  } catch (error) {
    const reason = error instanceof Error ? error.message : "unknown reason"
    const message = `${place.field}.source cannot be read: ${reason}`
    return { ok: false, error: failure("invalid_program", message, `${place.field}.source`) }
  }
}
