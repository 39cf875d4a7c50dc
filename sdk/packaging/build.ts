/**
 * What the package holds of this workspace: the modules as JavaScript, and one declaration file. `@computerd/protocol` is
 * part of both, since nobody outside can install it.
 *
 * K1 the modules stay apart: a bundler leaves out whole modules, but keeps the schemas of one that it needs a part of
 * K2 nothing of other packages is taken in, and nothing is imported that the manifest does not name
 * K3 a warning is a failure: what is missing would be noticed by whoever installs the package
 */
import { join } from "node:path"
import { build, type InlineConfig } from "tsdown"

export interface BuildRequest {
  /** Of the repository. */
  readonly root: string
  readonly directory: string
  /** Names of packages. */
  readonly dependencies: readonly string[]
}

const protocol = "@computerd/protocol"

const configOf = ({ root, directory, dependencies }: BuildRequest): InlineConfig => ({
  config: false,
  cwd: root,
  entry: { index: "sdk/index.ts" },
  outDir: directory,
  clean: false,
  format: "esm",
  fixedExtension: false,
  platform: "node",
  target: "node20.3",
  deps: {
    alwaysBundle: [new RegExp(`^${protocol}/`)],
    neverBundle: [...dependencies],
    onlyBundle: [protocol],
    onlyImport: [...dependencies],
  },
  logLevel: "warn",
  failOnWarn: true,
  // How long a part of the build took is a warning to its tool.
  checks: { bundlerTimings: false },
})

export const buildModules = async (request: BuildRequest): Promise<void> => {
  await build({ ...configOf(request), unbundle: true, dts: false })
}

export const buildDeclarations = async (request: BuildRequest): Promise<void> => {
  // The compiler emits nothing for what it finds below `node_modules`, so it is shown where protocol really lies.
  const paths = { [`${protocol}/*`]: [join(request.root, "protocol/*.ts")] }
  await build({
    ...configOf(request),
    dts: { dtsOnly: true, compilerOptions: { rootDir: request.root, paths } },
  })
}
