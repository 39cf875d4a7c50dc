/** Whether somebody still reads what is shown: `head` has read enough and leaves. */
export interface Reader {
  /** Aborted when a write found nobody. */
  readonly gone: AbortSignal
  readonly forget: () => void
}

export const readerOf = (stream: NodeJS.WriteStream): Reader => {
  const gone = new AbortController()
  const leave = (): void => gone.abort()
  stream.on("error", leave)
  return { gone: gone.signal, forget: () => stream.off("error", leave) }
}
