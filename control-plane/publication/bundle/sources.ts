/**
 * What a bundle says about files. Modules of fallback packages and of any `node_modules` are named by package and path,
 * so that neither a bundle nor its digest depends on where those lie on this machine; assets are found beside the
 * bundle, wherever it runs. No line is added or removed, so the source map stays right. Pure.
 */
import { join, relative } from "node:path"
import { z } from "zod"

export interface Zone {
  readonly name: string
  /** All links resolved. */
  readonly directory: string
}

export interface SourceNames {
  readonly programDirectory: string
  readonly zones: readonly Zone[]
}

const SourceMap = z.looseObject({ sources: z.array(z.string()), debugId: z.string().optional() })

const modules = "/node_modules/"

/** `source` is relative to the program directory, as the bundler writes it. */
export const sourceName = (source: string, { programDirectory, zones }: SourceNames): string => {
  if (!source.startsWith("../")) return source
  const path = join(programDirectory, source)
  const zone = zones.find(({ directory }) => path.startsWith(`${directory}/`))
  if (zone !== undefined) return `${zone.name}/${relative(zone.directory, path)}`
  const at = path.lastIndexOf(modules)
  return at === -1 ? source : path.slice(at + 1)
}

/** The bundler's debug id is a digest over the names that were replaced, so it goes with them. */
export const renameInMap = (map: string, names: SourceNames): string => {
  const { debugId: _, ...parsed } = SourceMap.parse(JSON.parse(map))
  return JSON.stringify({ ...parsed, sources: parsed.sources.map((source) => sourceName(source, names)) })
}

/** The bundler puts the path of each module into a comment above it, and refers to an asset from the working directory. */
export const renameInCode = (code: string, names: SourceNames, assets: readonly string[]): string =>
  assets.reduce(
    (text, asset) => text.replaceAll(`"./${asset}"`, `import.meta.dir + ${JSON.stringify(`/${asset}`)}`),
    code
      .replace(/^\/\/# debugId=.*$/m, "//")
      .replace(/^\/\/ (\.\.\/.*)$/gm, (_, source: string) => `// ${sourceName(source, names)}`),
  )
