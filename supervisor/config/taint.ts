/**
 * Variables by which whoever starts this process makes the runtime or the loader run other code in it. They have done so
 * by the time that anything here could look, so they are told and nothing more.
 */
import type { Environment } from "./environment.ts"

const runsOtherCode: readonly RegExp[] = [
  /^BUN_(OPTIONS|BE_BUN|INSPECT.*|JSC_.*)$/,
  /^NODE_(OPTIONS|PATH)$/,
  /^LD_(PRELOAD|AUDIT|LIBRARY_PATH)$/,
]

/** Their names, never what they hold. */
export const taintOf = (environment: Environment): readonly string[] =>
  Object.keys(environment)
    .filter((name) => environment[name] !== "" && runsOtherCode.some((pattern) => pattern.test(name)))
    .toSorted()
