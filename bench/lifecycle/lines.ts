/** Lines of JSON that a process writes, each seen by whoever listens then. */
export type Look<Line> = (line: Line) => void

export const readLines = async <Line>(
  stream: ReadableStream<Uint8Array>,
  look: Look<Line>,
): Promise<void> => {
  const decoder = new TextDecoder()
  let rest = ""
  for await (const chunk of stream) {
    const lines = (rest + decoder.decode(chunk, { stream: true })).split("\n")
    rest = lines.pop() ?? ""
    for (const line of lines) look(JSON.parse(line))
  }
}
