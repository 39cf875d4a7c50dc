/** Waiting for what may never come, such as a reader that has stopped or a person who types. */

/** Settles as `work` does, and rejects with the reason of the signal once that aborts. Leaves no listener behind. */
export const unlessAborted = async <Value>(work: Promise<Value>, signal: AbortSignal): Promise<Value> => {
  let forget = (): void => undefined
  const aborted = new Promise<never>((_, reject) => {
    const abort = (): void => reject(signal.reason)
    if (signal.aborted) abort()
    signal.addEventListener("abort", abort, { once: true })
    forget = () => signal.removeEventListener("abort", abort)
  })
  try {
    return await Promise.race([work, aborted])
  } finally {
    forget()
  }
}
