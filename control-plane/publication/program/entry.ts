/** Where a program starts and what its `package.json` says to publication. */
import { realpath, stat } from "node:fs/promises"
import { isAbsolute, join, resolve } from "node:path"
import { fail, ok, type Result } from "@computerd/protocol/errors"
import { judge } from "@computerd/protocol/judge"
import { z } from "zod"

export interface Program {
  readonly directory: string
  /** Absolute path of the module that exports the definitions. */
  readonly entry: string
  /** Packages that are carried as files instead of being bundled. */
  readonly external: readonly string[]
}

const packageName = z.string().regex(/^(?:@[\w.-]+\/)?[\w][\w.-]*$/, "must be the name of a package")

const PackageFile = z.object({
  helmr: z
    .strictObject({
      entry: z.string().min(1).optional(),
      external: z.array(packageName).max(64).optional(),
    })
    .optional(),
  module: z.string().min(1).optional(),
  main: z.string().min(1).optional(),
})
type PackageFile = z.infer<typeof PackageFile>

const kindOf = async (path: string): Promise<"file" | "directory" | "other" | "missing"> => {
  try {
    const entry = await stat(path)
    if (entry.isFile()) return "file"
    return entry.isDirectory() ? "directory" : "other"
  } catch {
    return "missing"
  }
}

const readPackage = async (path: string): Promise<Result<PackageFile>> => {
  if ((await kindOf(path)) !== "file") return ok({})
  let value: unknown
  try {
    value = JSON.parse(await Bun.file(path).text())
  } catch {
    return fail(
      "invalid_program",
      `${path} is not readable JSON; correct it and publish again`,
      "package.json",
    )
  }
  const judged = judge(PackageFile, value)
  if (judged.ok) return judged
  const { field, message } = judged.error
  return fail("invalid_program", `${path}: ${field} ${message}`, `package.json.${field}`)
}

/** The first that is named wins; a named file that is missing is an error and never falls through to the next. */
const candidates = (file: PackageFile): readonly { readonly field: string; readonly path: string }[] => [
  ...(file.helmr?.entry === undefined ? [] : [{ field: "helmr.entry", path: file.helmr.entry }]),
  ...(file.module === undefined ? [] : [{ field: "module", path: file.module }]),
  ...(file.main === undefined ? [] : [{ field: "main", path: file.main }]),
]

export const findProgram = async (given: string): Promise<Result<Program>> => {
  const named = resolve(given)
  const kind = await kindOf(named)
  if (kind === "missing") return fail("invalid_program", `program directory ${named} does not exist`)
  // Modules know themselves by their real paths.
  const directory = await realpath(named)
  if (kind !== "directory")
    return fail("invalid_program", `${directory} is not a directory; name the directory of the program`)
  const file = await readPackage(join(directory, "package.json"))
  if (!file.ok) return file
  const [declared] = candidates(file.value)
  const entry = declared === undefined ? join(directory, "index.ts") : resolve(directory, declared.path)
  if (declared !== undefined && isAbsolute(declared.path))
    return fail(
      "invalid_program",
      `${declared.field} must be relative to ${directory}`,
      `package.json.${declared.field}`,
    )
  if ((await kindOf(entry)) === "file")
    return ok({ directory, entry, external: [...new Set(file.value.helmr?.external ?? [])] })
  return declared === undefined
    ? fail(
        "invalid_program",
        `${directory} has no index.ts; add one, or name the entry as "helmr": { "entry": "file.ts" } in package.json`,
      )
    : fail("invalid_program", `${entry} does not exist`, `package.json.${declared.field}`)
}
