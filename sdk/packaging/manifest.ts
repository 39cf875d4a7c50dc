/** The package.json that outsiders get, made from the one of the workspace. */
import sdk from "../package.json" with { type: "json" }

/** The workspace's own packages are taken in. */
const dependencies: Readonly<Record<string, string>> = Object.fromEntries(
  Object.entries(sdk.dependencies).filter(([, version]) => !version.startsWith("workspace:")),
)

export const manifest = {
  name: sdk.name,
  version: sdk.version,
  description: sdk.description,
  license: sdk.license,
  type: sdk.type,
  sideEffects: sdk.sideEffects,
  engines: sdk.engines,
  exports: {
    ".": { types: "./index.d.ts", default: "./index.js" },
    "./package.json": "./package.json",
  },
  dependencies,
}

/** As npm names it: `helmr-sdk-0.1.0.tgz`. */
export const tarballName = `${manifest.name.replace("@", "").replace("/", "-")}-${manifest.version}.tgz`
