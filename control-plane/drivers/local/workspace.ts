/**
 * Makes a Computer's workspace from stored layers: an own copy of every file (shared blocks where the file system can),
 * links as they are. It is built beside its place and renamed, so a workspace that exists is whole.
 */
import {
  chmod,
  constants,
  copyFile,
  lstat,
  mkdir,
  readdir,
  readlink,
  rename,
  symlink,
  unlink,
} from "node:fs/promises"
import { join } from "node:path"
import type { ImageStep } from "@computerd/protocol/manifest"
import { eachBounded } from "../../publication/content/parallel.ts"
import { removeTree } from "../../publication/content/remove.ts"
import type { ContentStore } from "../../publication/content/store.ts"
import { copyPlans } from "./layout.ts"

const copiesAtOnce = 16
const permissions = 0o777

interface Found {
  readonly directories: { readonly path: string; readonly mode: number }[]
  readonly files: string[]
  readonly links: string[]
}

const list = async (root: string, at: string, found: Found): Promise<void> => {
  for (const child of await readdir(join(root, at), { withFileTypes: true })) {
    const path = join(at, child.name)
    if (child.isSymbolicLink()) found.links.push(path)
    else if (child.isDirectory()) {
      found.directories.push({ path, mode: (await lstat(join(root, path))).mode & permissions })
      await list(root, path, found)
    } else found.files.push(path)
  }
}

const isExisting = (error: unknown): boolean =>
  error instanceof Error && "code" in error && error.code === "EEXIST"

/** A later step may replace a file or a link of an earlier one; it never writes through a link. */
const replacing = async (target: string, write: () => Promise<void>): Promise<void> => {
  try {
    await write()
  } catch (error) {
    if (!isExisting(error)) throw error
    await unlink(target)
    await write()
  }
}

const ensureDirectory = async (target: string): Promise<void> => {
  try {
    await mkdir(target, { mode: 0o700 })
  } catch (error) {
    if (!isExisting(error)) throw error
    if (!(await lstat(target)).isDirectory())
      throw new Error(`a copy step needs a directory where an earlier one put something else: ${target}`)
    await chmod(target, 0o700)
  }
}

const ensureDestination = async (workspace: string, path: string): Promise<void> => {
  const steps = path === "" ? [] : path.split("/")
  for (const [index] of steps.entries()) await ensureDirectory(join(workspace, ...steps.slice(0, index + 1)))
}

const copyFileExactly = async (from: string, to: string): Promise<void> => {
  await replacing(to, () => copyFile(from, to, constants.COPYFILE_FICLONE | constants.COPYFILE_EXCL))
  await chmod(to, (await lstat(from)).mode & permissions)
}

const copyLayer = async (layer: string, target: string, signal: AbortSignal): Promise<void> => {
  const found: Found = { directories: [], files: [], links: [] }
  await list(layer, "", found)
  for (const { path } of found.directories) await ensureDirectory(join(target, path))
  await eachBounded(found.files, copiesAtOnce, async (path) => {
    signal.throwIfAborted()
    await copyFileExactly(join(layer, path), join(target, path))
  })
  for (const path of found.links) {
    const destination = join(target, path)
    const pointsTo = await readlink(join(layer, path))
    await replacing(destination, () => symlink(pointsTo, destination))
  }
  for (const { path, mode } of found.directories.toReversed()) await chmod(join(target, path), mode)
}

export interface WorkspaceRequest {
  readonly workspace: string
  readonly steps: readonly ImageStep[]
  readonly content: Pick<ContentStore, "layerDirectory">
  readonly signal: AbortSignal
}

/** Throws what the file system throws; a workspace that is there already is left as it is. */
export const makeWorkspace = async (request: WorkspaceRequest): Promise<void> => {
  const { workspace, signal } = request
  if (await lstat(workspace).catch(() => undefined)) return
  const partial = `${workspace}.partial`
  await removeTree(partial)
  await mkdir(partial, { mode: 0o700 })
  for (const plan of copyPlans(request.steps)) {
    signal.throwIfAborted()
    if (plan.kind === "outside") continue
    await ensureDestination(partial, plan.path)
    await copyLayer(request.content.layerDirectory(plan.layer), join(partial, plan.path), signal)
  }
  await rename(partial, workspace)
}
