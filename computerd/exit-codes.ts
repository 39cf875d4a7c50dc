/** How a command says how it went; a signal's code is `interruptedExitCode`. */
export const exitFailure = 1
export const exitUsage = 2
/** As `timeout` of coreutils has it: what was waited for goes on. */
export const exitTimeout = 124
/** As that of a command which writes to a closed pipe: 128 and the number of SIGPIPE. */
export const exitClosedPipe = 141
