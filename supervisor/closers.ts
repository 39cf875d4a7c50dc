/** What must be closed when the supervisor ends, in the reverse order of its making. */
import { type Timers, within } from "./ports.ts"

export interface Closers {
  readonly push: (closer: Closer) => void
  /** Every closer gets its turn and its time, whatever becomes of the others; answers with what failed. */
  readonly run: () => Promise<readonly string[]>
}

export interface Closer {
  readonly name: string
  readonly limitMs: number
  /** Answers with what it could not do. */
  readonly close: () => Promise<readonly string[]>
}

const attempt = async (timers: Timers, { name, limitMs, close }: Closer): Promise<readonly string[]> => {
  try {
    const result = await within(timers, limitMs, close())
    if (result === "timeout") return [`${name}: not closed within ${limitMs} ms`]
    return result.map((problem) => `${name}: ${problem}`)
  } catch (error) {
    return [`${name}: ${error instanceof Error ? error.message : String(error)}`]
  }
}

/** For what either closes or throws. */
export const quietly =
  (work: () => void | Promise<void>): Closer["close"] =>
  async () => {
    await work()
    return []
  }

export const createClosers = (timers: Timers): Closers => {
  const stack: Closer[] = []
  return {
    push: (closer) => {
      stack.push(closer)
    },
    run: async () => {
      const failed: string[] = []
      for (let closer = stack.pop(); closer !== undefined; closer = stack.pop())
        failed.push(...(await attempt(timers, closer)))
      return failed
    },
  }
}
