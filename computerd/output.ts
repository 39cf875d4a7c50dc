/** Answers and notices on the standard streams. */
import { harmless } from "./view/text.ts"

/** Writes to a standard stream and waits until the text is out: what is left behind at an exit would be lost. */
export const writeOut = (stream: NodeJS.WriteStream, text: string): Promise<void> =>
  new Promise((resolve) => {
    if (text === "") resolve()
    // A reader that went away has read what it wanted.
    else stream.write(text, () => resolve())
  })

/** What programs answered: as it is, but on a terminal without what would steer it. */
export const writeAnswer = (stream: NodeJS.WriteStream, text: string): Promise<void> =>
  writeOut(stream, stream.isTTY ? harmless(text) : text)

/** A terminal or pipe that has gone away is not an error of the work that goes on. */
export const tolerateClosedStreams = (streams: readonly NodeJS.WriteStream[]): void => {
  for (const stream of streams) stream.on("error", () => undefined)
}
