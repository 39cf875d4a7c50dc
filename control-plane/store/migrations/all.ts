import { migration001 } from "./001.ts"

/** In order; the position is the version that a store has after it. A released one never changes. */
export const migrations: readonly string[] = [migration001]
