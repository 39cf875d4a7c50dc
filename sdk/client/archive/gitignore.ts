/**
 * The patterns of a directory's `.gitignore` as the root's one would say them. One list then judges every path, in which
 * deeper files come later and so overrule shallower ones. Pure.
 */

const escaped = (path: string): string => path.replaceAll(/[\\*?[\]]/g, "\\$&")

/** What matches a name at any depth has no slash but at its end. */
const hasPlace = (pattern: string): boolean => pattern.trimEnd().slice(0, -1).includes("/")

const saysNothing = (line: string): boolean => line.startsWith("#") || /^!?\/*\s*$/.test(line)

const rootedLine = (line: string, base: string): readonly string[] => {
  if (saysNothing(line)) return []
  const sign = line.startsWith("!") ? "!" : ""
  const pattern = line.slice(sign.length)
  const place = hasPlace(pattern) ? pattern.replace(/^\//, "") : `**/${pattern}`
  return [`${sign}/${escaped(base)}${place}`]
}

/** `base` is relative to the root and ends in a slash; that of the root itself is "". */
export const rootedPatterns = (text: string, base: string): readonly string[] =>
  text
    .replace(/^\uFEFF/, "")
    .split(/\r?\n/)
    .flatMap((line) => rootedLine(line, base))
