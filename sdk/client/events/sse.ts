/** Server-sent events as the standard reads them, in pieces of any size. Pure but for what it keeps of an unfinished one. */

export interface ServerSentEvent {
  readonly id: string
  readonly data: string
}

export interface SseParser {
  /** What is complete now; absent when an event is larger than any of this API. */
  readonly add: (text: string) => readonly ServerSentEvent[] | undefined
}

/** The largest event is one piece of output, as JSON. */
export const eventMaxLength = 4 * 1_048_576

interface Fields {
  readonly id: string
  readonly data: readonly string[]
  readonly length: number
}

const nothing: Fields = { id: "", data: [], length: 0 }

/** One space after the colon belongs to the form. */
const splitField = (line: string): readonly [name: string, value: string] => {
  const colon = line.indexOf(":")
  if (colon === -1) return [line, ""]
  const value = line.slice(colon + 1)
  return [line.slice(0, colon), value.startsWith(" ") ? value.slice(1) : value]
}

const withLine = (fields: Fields, line: string): Fields => {
  const [name, value] = splitField(line)
  const length = fields.length + value.length
  if (name === "id") return { ...fields, id: value, length }
  return name === "data" ? { ...fields, data: [...fields.data, value], length } : fields
}

export const createSseParser = (): SseParser => {
  let open = ""
  let fields = nothing
  const finished = (): readonly ServerSentEvent[] => {
    const { id, data } = fields
    fields = nothing
    return data.length === 0 ? [] : [{ id, data: data.join("\n") }]
  }
  return {
    add: (text) => {
      const lines = `${open}${text}`.split("\n")
      open = lines.pop() ?? ""
      const found: ServerSentEvent[] = []
      for (const raw of lines) {
        const line = raw.endsWith("\r") ? raw.slice(0, -1) : raw
        if (line === "") found.push(...finished())
        else fields = withLine(fields, line)
      }
      return open.length + fields.length > eventMaxLength ? undefined : found
    },
  }
}
