/** The text of an answer, up to a size that no answer of this API has. */

/** A page of 100 events, each with the largest piece of output, stays far below. */
export const answerMaxBytes = 64 * 1_048_576

/** Absent when it is larger. Rejects when the connection is cut. */
export const readBody = async (response: Response): Promise<string | undefined> => {
  if (response.body === null) return ""
  const decoder = new TextDecoder()
  let size = 0
  let text = ""
  for await (const chunk of response.body) {
    size += chunk.byteLength
    if (size > answerMaxBytes) return undefined
    text += decoder.decode(chunk, { stream: true })
  }
  return text + decoder.decode()
}
