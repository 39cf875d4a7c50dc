/** Makes lines of text that comes in pieces. A line without an end is cut into parts, so what is kept is bounded. */
const lineMaxLength = 2_000

export interface Pieces {
  /** The lines that are complete now. */
  readonly add: (text: string) => readonly string[]
  /** What is left without an end. */
  readonly rest: () => readonly string[]
}

const parts = (line: string): readonly string[] => {
  const found: string[] = []
  for (let at = 0; at < line.length; at += lineMaxLength) found.push(line.slice(at, at + lineMaxLength))
  return found.length === 0 ? [""] : found
}

export const createPieces = (): Pieces => {
  let open = ""
  return {
    add: (text) => {
      const lines = `${open}${text}`.split("\n")
      const last = parts(lines.pop() ?? "")
      open = last.at(-1) ?? ""
      return [...lines.flatMap(parts), ...last.slice(0, -1)]
    },
    rest: () => {
      const left = open
      open = ""
      return left === "" ? [] : [left]
    },
  }
}
