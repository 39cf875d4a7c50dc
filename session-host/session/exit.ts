/** How a Session process ends itself. Other codes and signals are the program's doing or its supervisor's. */
export const exitCodes = {
  shutdown: 0,
  /** Loading the program failed, or its `init`. */
  failed: 1,
  /** Standard input held no bootstrap. */
  bootstrap: 2,
  /** The supervisor refused this process for good. */
  rejected: 3,
  /** No supervisor was heard for too long. */
  orphaned: 4,
  /** The numbering of the channel cannot be continued. */
  broken: 5,
} as const

/** For the last frames of a process that ends. */
export const lastFramesMs = 2_000
