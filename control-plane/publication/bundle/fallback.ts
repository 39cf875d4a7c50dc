/**
 * Resolves the packages that every program may use without installing them. A program's own copy always wins: the
 * fallback is asked only when the normal search from the importing file finds nothing.
 */
import { dirname } from "node:path"
import type { BunPlugin } from "bun"

const escaped = (name: string): string => name.replace(/[^\w]/g, "\\$&")

const resolvable = (specifier: string, from: string): string | undefined => {
  try {
    return Bun.resolveSync(specifier, from)
  } catch {
    return undefined
  }
}

export const fallbackModules = (names: readonly string[], root: string): BunPlugin => ({
  name: "fallback-modules",
  setup: (build) => {
    const filter = new RegExp(`^(?:${names.map(escaped).join("|")})(?:/|$)`)
    build.onResolve({ filter }, ({ path, importer }) => {
      if (resolvable(path, dirname(importer)) !== undefined) return undefined
      const found = resolvable(path, root)
      return found === undefined ? undefined : { path: found }
    })
  },
})
