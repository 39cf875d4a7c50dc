/**
 * Errors of the program that reach no result: a rejected promise that nobody awaited, an exception in a timer. They may
 * come from anything that `init` or an earlier Turn left running, so they fail no Turn and end no process (which would
 * take the Session's memory and the running Turn with it); each is written to standard error with its stack.
 */
export type Stray = (where: string, error: unknown) => void

export const strayTo =
  (log: (line: string) => void): Stray =>
  (where, error) =>
    log(`${where} failed: ${inspected(error)}`)

const inspected = (error: unknown): string => {
  try {
    return Bun.inspect(error)
  } catch {
    return "with a value that cannot be shown"
  }
}

/** From here on the process outlives such errors. */
export const catchStrays = (stray: Stray): void => {
  process.on("unhandledRejection", (reason) => stray("a promise that nobody awaited", reason))
  process.on("uncaughtException", (error) => stray("code outside of any handler", error))
}
