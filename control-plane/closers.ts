/** What was opened, in order; closing runs in reverse, each in its own bound, and one failure stops no other. */
export interface Closers {
  readonly add: (name: string, close: () => unknown, limitMs?: number) => void
  /** Runs once; later callers get the same answer: what failed, in words. */
  readonly close: () => Promise<readonly string[]>
}

interface Closer {
  readonly name: string
  readonly close: () => unknown
  readonly limitMs: number
}

const limitDefaultMs = 5_000

const late = (limitMs: number) => {
  const { promise, resolve } = Promise.withResolvers<"late">()
  const timer = setTimeout(() => resolve("late"), limitMs)
  return { promise, cancel: () => clearTimeout(timer) }
}

const isFailures = (value: unknown): value is readonly string[] =>
  Array.isArray(value) && value.every((item) => typeof item === "string")

const run = async ({ name, close, limitMs }: Closer): Promise<readonly string[]> => {
  const bound = late(limitMs)
  try {
    const outcome = await Promise.race([Promise.resolve(close()), bound.promise])
    if (outcome === "late") return [`${name} did not close within ${limitMs / 1000} s`]
    return isFailures(outcome) ? outcome : []
  } catch (error) {
    return [`${name} could not be closed: ${error instanceof Error ? error.message : "unknown reason"}`]
  } finally {
    bound.cancel()
  }
}

export const createClosers = (): Closers => {
  const closers: Closer[] = []
  let closing: Promise<readonly string[]> | undefined
  const closeAll = async (): Promise<readonly string[]> => {
    const failures: string[] = []
    for (let next = closers.pop(); next !== undefined; next = closers.pop())
      failures.push(...(await run(next)))
    return failures
  }
  return {
    add: (name, close, limitMs = limitDefaultMs) => {
      closers.push({ name, close, limitMs })
    },
    close: () => {
      closing ??= closeAll()
      return closing
    },
  }
}
