/** Server-sent events as the standard reads them, in pieces of any size. Pure but for what it keeps of an unfinished one. */

export interface SseParser {
  /** The data of what is complete now; absent when an event is larger than any of this API. */
  readonly add: (text: string) => readonly string[] | undefined
}

/** The largest event is one piece of output, as JSON. */
export const eventMaxLength = 4 * 1_048_576

const lineEnd = /\r\n?|\n/g

/** What a line adds to the data of its event; one space after the colon belongs to the form. */
const dataOf = (line: string): string | undefined => {
  if (line === "data") return ""
  if (!line.startsWith("data:")) return undefined
  return line.slice(line.startsWith("data: ") ? 6 : 5)
}

export const createSseParser = (): SseParser => {
  let open = ""
  let afterCarriageReturn = false
  let data: string[] = []
  let length = 0

  const finished = (): readonly string[] => {
    const found = data.length === 0 ? [] : [data.join("\n")]
    data = []
    length = 0
    return found
  }
  const take = (line: string): readonly string[] => {
    if (line === "") return finished()
    const added = dataOf(line)
    if (added === undefined) return []
    data.push(added)
    // With its line end: lines without data take room as well.
    length += added.length + 1
    return []
  }

  return {
    add: (text) => {
      if (text === "") return []
      // The line has ended with the carriage return; a line feed that follows belongs to the same end.
      let from = afterCarriageReturn && text.startsWith("\n") ? 1 : 0
      afterCarriageReturn = text.endsWith("\r")
      const found: string[] = []
      lineEnd.lastIndex = from
      for (const end of text.matchAll(lineEnd)) {
        found.push(...take(open + text.slice(from, end.index)))
        open = ""
        from = end.index + end[0].length
      }
      open += text.slice(from)
      return open.length + length > eventMaxLength ? undefined : found
    },
  }
}
