/** Copies placed packages into a bundle directory: files with their modes, links as they are. */
import { chmod, constants, copyFile, lstat, mkdir, readdir, readlink, symlink } from "node:fs/promises"
import { isAbsolute, join } from "node:path"
import { eachBounded } from "../content/parallel.ts"
import type { PlacedPackage } from "./external.ts"

const packagesAtOnce = 4
const permissions = 0o777

/** A supervisor unpacks no link that leads out of the bundle. */
const copyLink = async (from: string, to: string): Promise<void> => {
  const target = await readlink(from)
  if (isAbsolute(target))
    throw new Error(`${from} is a link to an absolute path, which a bundle cannot carry`)
  await symlink(target, to)
}

const copyEntry = async (from: string, to: string): Promise<void> => {
  const entry = await lstat(from)
  if (entry.isSymbolicLink()) await copyLink(from, to)
  else if (entry.isDirectory()) await copyDirectory(from, to)
  else if (entry.isFile()) {
    await copyFile(from, to, constants.COPYFILE_FICLONE)
    await chmod(to, entry.mode & permissions)
  }
}

/** A package's own `node_modules` is left out: what it needs of it is placed as a package itself. */
const copyDirectory = async (from: string, to: string): Promise<void> => {
  await mkdir(to, { recursive: true, mode: 0o755 })
  for (const name of await readdir(from))
    if (name !== "node_modules") await copyEntry(join(from, name), join(to, name))
}

export const carryPackages = (packages: readonly PlacedPackage[], bundleDirectory: string): Promise<void> =>
  eachBounded(packages, packagesAtOnce, ({ directory, location }) =>
    copyDirectory(directory, join(bundleDirectory, location)),
  )
