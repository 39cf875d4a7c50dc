/** Puts names of any kind into Markdown: a name can neither end its code span, nor its line, nor its table cell. */

/** Controls, separators, and marks that reorder or hide text. */
const hidden = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}\uFFFD]/u
const eachHidden = new RegExp(hidden, "gu")

const escapeHidden = (character: string): string => {
  if (character === "\n") return "\\n"
  if (character === "\t") return "\\t"
  if (character === "\r") return "\\r"
  return `\\u{${(character.codePointAt(0) ?? 0).toString(16).toUpperCase()}}`
}

/** Verbatim where that is unambiguous, else quoted with escapes. */
const visible = (name: string): string =>
  hidden.test(name) ? `"${name.replace(/["\\]/g, "\\$&").replace(eachHidden, escapeHidden)}"` : name

/** An inline code span. The fence is longer than any run of backticks in the name. */
export const code = (name: string): string => {
  const content = visible(name)
  const longest = Math.max(0, ...(content.match(/`+/g) ?? []).map((run) => run.length))
  const fence = "`".repeat(longest + 1)
  // Without padding, a backtick at the edge would join the fence and a blank edge would be stripped.
  const padding = /^[` ]|[` ]$/.test(content) ? " " : ""
  return `${fence}${padding}${content}${padding}${fence}`
}

/** Inside a table even a code span ends at a bar. */
export const cell = (text: string): string => text.replaceAll("|", "\\|")
