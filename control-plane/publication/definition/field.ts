/** How publication refuses a definition: one code, the path of the field, and what it must be. */
import { fail } from "@computerd/protocol/errors"

const shownMax = 64

/** Enough of an author's text to find it, on one line. */
export const shown = (text: string): string => text.slice(0, shownMax).replace(/\p{Cc}/gu, "?")

export const invalid = (field: string, problem: string): ReturnType<typeof fail> =>
  fail("invalid_program", `${field} ${problem}`, field)

/** How a definition is called in a path: by its id when that can be read, else by the name of its export. */
export const label = (kind: "agents" | "templates", id: unknown, exportName: string | null): string =>
  `${kind}[${shown(typeof id === "string" && id !== "" ? id : (exportName ?? "?"))}]`
