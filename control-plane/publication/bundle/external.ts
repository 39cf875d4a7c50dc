/**
 * Packages that travel as files: those that the program declares, with everything they depend on, laid out as a
 * `node_modules` in which each of them finds the very copy that it found where it was installed.
 */
import { readFile, realpath } from "node:fs/promises"
import { dirname, join } from "node:path"
import { fail, ok, type Result } from "@computerd/protocol/errors"
import { z } from "zod"
import { fitsPlatform } from "./platform.ts"

export interface PlacedPackage {
  /** Relative to the bundle: `node_modules/a` or `node_modules/a/node_modules/b`. */
  readonly location: string
  /** Where it is installed, all links resolved. */
  readonly directory: string
}

const names = z.record(z.string(), z.string()).default({})
const PackageFile = z.object({
  dependencies: names,
  optionalDependencies: names,
  peerDependencies: names,
  os: z.array(z.string()).optional(),
  cpu: z.array(z.string()).optional(),
  libc: z.array(z.string()).optional(),
})
type PackageFile = z.infer<typeof PackageFile>

interface Installed {
  readonly directory: string
  readonly file: PackageFile
}

/** A program that needs more than this needs an image, not a bundle. */
const packagesMax = 5000

const readInstalled = async (directory: string): Promise<Installed | undefined> => {
  try {
    const real = await realpath(directory)
    return {
      directory: real,
      file: PackageFile.parse(JSON.parse(await readFile(join(real, "package.json"), "utf8"))),
    }
  } catch {
    return undefined
  }
}

/** Node's own search: `node_modules` of this directory and of each above it. */
const findInstalled = async (name: string, from: string): Promise<Installed | undefined> => {
  const found = await readInstalled(join(from, "node_modules", name))
  if (found !== undefined) return found
  const parent = dirname(from)
  return parent === from ? undefined : findInstalled(name, parent)
}

interface Wanted {
  readonly name: string
  readonly required: boolean
}

const wantedBy = ({
  dependencies,
  optionalDependencies,
  peerDependencies,
}: PackageFile): readonly Wanted[] => [
  // npm lists an optional dependency in both tables; the optional entry is the one that counts.
  ...Object.keys(dependencies)
    .filter((name) => !(name in optionalDependencies))
    .map((name) => ({ name, required: true })),
  ...Object.keys({ ...optionalDependencies, ...peerDependencies }).map((name) => ({ name, required: false })),
]

/** Where a package at `location` looks for `name`, nearest first. */
const lookups = (location: string, name: string): readonly string[] => {
  const steps = location.split("/node_modules/")
  return steps
    .map((_, index) => `${steps.slice(0, steps.length - index).join("/node_modules/")}/node_modules/${name}`)
    .concat(`node_modules/${name}`)
}

const place = (
  placed: ReadonlyMap<string, string>,
  location: string,
  found: Installed,
  name: string,
): string | undefined => {
  const nearest = lookups(location, name).find((candidate) => placed.has(candidate))
  if (nearest === undefined) return `node_modules/${name}`
  return placed.get(nearest) === found.directory ? undefined : `${location}/node_modules/${name}`
}

interface Pending extends Installed {
  readonly location: string
}

const declared = async (
  external: readonly string[],
  directory: string,
): Promise<Result<readonly Pending[]>> => {
  const found: Pending[] = []
  for (const name of external) {
    const installed = await findInstalled(name, directory)
    if (installed === undefined)
      return fail(
        "invalid_program",
        `package.json helmr.external names ${name}, which is not installed in ${directory}; install it and publish again`,
        "package.json.helmr.external",
      )
    found.push({ ...installed, location: `node_modules/${name}` })
  }
  return ok(found)
}

/** Each package's dependencies are placed before those of anything below it, so a later one shadows nothing. */
export const externalPackages = async (
  external: readonly string[],
  programDirectory: string,
): Promise<Result<readonly PlacedPackage[]>> => {
  const roots = await declared(external, programDirectory)
  if (!roots.ok) return roots
  const placed = new Map(roots.value.map(({ location, directory }) => [location, directory]))
  const queue = [...roots.value]
  for (let at = queue.shift(); at !== undefined; at = queue.shift()) {
    for (const { name, required } of wantedBy(at.file)) {
      const found = await findInstalled(name, at.directory)
      if (found === undefined && required)
        return fail(
          "invalid_program",
          `${name}, which ${at.location} needs, is not installed; install it and publish again`,
        )
      if (found === undefined || !(required || fitsPlatform(found.file))) continue
      const location = place(placed, at.location, found, name)
      if (location === undefined) continue
      placed.set(location, found.directory)
      queue.push({ ...found, location })
      if (placed.size > packagesMax)
        return fail("invalid_program", `helmr.external brings more than ${packagesMax} packages`)
    }
  }
  return ok([...placed].map(([location, directory]) => ({ location, directory })))
}
