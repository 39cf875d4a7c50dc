import { Glob } from "bun"

const root = new URL("../../", import.meta.url).pathname

export interface SourceFile {
  /** Relative to the repository. */
  readonly path: string
  readonly text: string
}

/** The layers that ship; tests, fixtures and benchmarks are not part of them. */
export const shipped =
  "{protocol,sdk,skill,runtime-mcp,session-host,supervisor,control-plane,computerd,examples}/**/*.ts"

export const files = async (pattern: string): Promise<readonly SourceFile[]> => {
  const found: SourceFile[] = []
  for await (const path of new Glob(pattern).scan({ cwd: root, dot: true })) {
    if (path.includes("node_modules/")) continue
    found.push({ path, text: await Bun.file(`${root}${path}`).text() })
  }
  return found.toSorted((a, b) => (a.path < b.path ? -1 : 1))
}

export const exists = (path: string): Promise<boolean> => Bun.file(`${root}${path}`).exists()

/** Lines that match, as `path:line: text`. */
export const linesWith = (source: SourceFile, pattern: RegExp): readonly string[] =>
  source.text
    .split("\n")
    .flatMap((line, index) => (pattern.test(line) ? [`${source.path}:${index + 1}: ${line.trim()}`] : []))
