/** Lines of the command itself: above what a view draws while there is one, else on standard error. */
import { writeOut } from "../output.ts"
import type { View } from "../view/view.ts"

export interface Notices {
  readonly say: (line: string) => Promise<void>
  /** From now on `view` shows them, until the returned function is called. */
  readonly through: (view: Pick<View, "note">) => () => void
}

export const createNotices = (err: NodeJS.WriteStream): Notices => {
  let current: Pick<View, "note"> | undefined
  return {
    say: async (line) => {
      if (current === undefined) await writeOut(err, `${line}\n`)
      else current.note(line)
    },
    through: (view) => {
      current = view
      return () => {
        current = undefined
      }
    },
  }
}
