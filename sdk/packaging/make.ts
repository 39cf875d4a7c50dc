/**
 * `bun run package [DIRECTORY]`: makes `@helmr/sdk` as others install it, unpacked in `package/` of the directory and as a
 * tarball beside it. The same sources give the same bytes.
 */
import { copyFile, mkdir, readdir, rm, stat, writeFile } from "node:fs/promises"
import { join, resolve } from "node:path"
import { fileURLToPath } from "node:url"
import { create } from "tar"
import { buildDeclarations, buildModules } from "./build.ts"
import { manifest, tarballName } from "./manifest.ts"

const root = fileURLToPath(new URL("../../", import.meta.url))
const target = resolve(process.argv[2] ?? join(root, "dist"))
const directory = join(target, "package")
const tarball = join(target, tarballName)

const filesOf = async (folder: string): Promise<readonly string[]> => {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true })
  return entries
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(folder.length + 1))
    .toSorted()
}

await rm(directory, { recursive: true, force: true })
await mkdir(directory, { recursive: true })
const request = { root, directory, dependencies: Object.keys(manifest.dependencies) }
await buildModules(request)
await buildDeclarations(request)
await writeFile(join(directory, "package.json"), `${JSON.stringify(manifest, null, 2)}\n`)
await copyFile(join(root, "sdk/packaging/README.md"), join(directory, "README.md"))
await copyFile(join(root, "LICENSE"), join(directory, "LICENSE"))

const files = await filesOf(directory)
await create(
  {
    file: tarball,
    cwd: directory,
    prefix: "package",
    gzip: true,
    portable: true,
    noDirRecurse: true,
    mtime: new Date(0),
  },
  [...files],
)
const { size } = await stat(tarball)
console.log(`${tarball}: ${files.length} files, ${size} bytes`)
