/**
 * Unpacks a bundle archive. What it holds is untrusted until it lies inside the target folder: no absolute path, no
 * way up, no link that points outside, no device.
 */
import { existsSync } from "node:fs"
import { isAbsolute, join, normalize } from "node:path"
import { fail, ok, type Result } from "@computerd/protocol/errors"

const entryFile = "index.js"

const staysInside = (path: string): boolean => !isAbsolute(path) && !normalize(path).startsWith("..")

interface Entry {
  readonly path: string
  readonly type?: string
  readonly linkpath?: string
}

const isHarmless = ({ path, type, linkpath }: Entry): boolean => {
  if (!staysInside(path)) return false
  switch (type) {
    case "File":
    case "OldFile":
    case "ContiguousFile":
    case "Directory":
      return true
    case "SymbolicLink":
      return linkpath !== undefined && !isAbsolute(linkpath) && staysInside(join(path, "..", linkpath))
    case "Link":
      return linkpath !== undefined && staysInside(linkpath)
    default:
      return false
  }
}

const executableBit = 0o100

const ownerMode = ({ type, mode }: { readonly type: string; readonly mode?: number }): number =>
  type === "Directory" || ((mode ?? 0) & executableBit) !== 0 ? 0o700 : 0o600

/** Answers with the path of the entry file. */
export const unpack = async (archive: string, directory: string): Promise<Result<string>> => {
  let refused: string | undefined
  try {
    // Loaded when there is something to unpack: a supervisor that is started again seldom has.
    const { extract } = await import("tar")
    await extract({
      file: archive,
      cwd: directory,
      strict: true,
      preserveOwner: false,
      onReadEntry: (entry) => {
        entry.mode = ownerMode(entry)
      },
      filter: (path, entry) => {
        const linkpath =
          "linkpath" in entry && typeof entry.linkpath === "string" ? entry.linkpath : undefined
        const type = "type" in entry ? entry.type : undefined
        const harmless = isHarmless({
          path,
          ...(type === undefined ? {} : { type }),
          ...(linkpath === undefined ? {} : { linkpath }),
        })
        if (!harmless) refused ??= path
        return harmless
      },
    })
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error)
    return fail(
      "bundle_failed",
      `the bundle is not a readable archive: ${message}: publish the program again`,
    )
  }
  if (refused !== undefined)
    return fail("bundle_failed", `the bundle holds ${refused}, which would lie outside: publish it again`)
  const entry = join(directory, entryFile)
  return existsSync(entry)
    ? ok(entry)
    : fail("bundle_failed", `the bundle has no ${entryFile}: publish the program again`)
}
