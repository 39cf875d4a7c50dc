/**
 * Names of source files in a bundle's map. A module of a fallback package or of any `node_modules` is named by package
 * and path, so that neither a bundle nor its digest depends on where those lie on this machine. Pure.
 */
import { join, relative } from "node:path"
import { z } from "zod"

export interface Zone {
  readonly name: string
  /** All links resolved. */
  readonly directory: string
}

const SourceMap = z.looseObject({ sources: z.array(z.string()), debugId: z.string().optional() })

const modules = "/node_modules/"

const isInside = (path: string, directory: string): boolean => path.startsWith(`${directory}/`)

/** `source` is relative to the program directory, as the bundler writes it. */
export const sourceName = (source: string, programDirectory: string, zones: readonly Zone[]): string => {
  if (!source.startsWith("../")) return source
  const path = join(programDirectory, source)
  const zone = zones.find(({ directory }) => isInside(path, directory))
  if (zone !== undefined) return `${zone.name}/${relative(zone.directory, path)}`
  const at = path.lastIndexOf(modules)
  return at === -1 ? source : path.slice(at + 1)
}

/** The bundler's debug id is a digest over the names that were replaced, so it goes with them. */
export const renameSources = (map: string, programDirectory: string, zones: readonly Zone[]): string => {
  const { debugId: _, ...parsed } = SourceMap.parse(JSON.parse(map))
  const sources = parsed.sources.map((source) => sourceName(source, programDirectory, zones))
  return JSON.stringify({ ...parsed, sources })
}

export const withoutDebugId = (code: string): string => code.replace(/^\/\/# debugId=.*\n/m, "")
