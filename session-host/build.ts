/**
 * The session host as one JavaScript file. A Session process starts from it in a third of the time that the separate
 * modules take; it needs nothing beside it.
 */
import { join } from "node:path"

/** Writes `main.js` into `directory`; its path. */
export const buildSessionHost = async (directory: string): Promise<string> => {
  const built = await Bun.build({
    entrypoints: [join(import.meta.dir, "main.ts")],
    outdir: directory,
    naming: "session-host.js",
    target: "bun",
    minify: { whitespace: true, syntax: true, identifiers: false },
  })
  const [output] = built.outputs
  if (output === undefined) throw new Error("the session host could not be built")
  return output.path
}
