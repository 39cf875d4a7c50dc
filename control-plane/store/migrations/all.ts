import { migration001 } from "./001.ts"
import { migration002 } from "./002.ts"

/** In order; the position is the version that a store has after it. A released one never changes. */
export const migrations: readonly string[] = [migration001, migration002]
