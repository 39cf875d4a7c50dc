/** The supervisor and the session host of a world, each built into one file: they are started hundreds of times. */
import { join } from "node:path"
import { buildSessionHost } from "@computerd/session-host/build"
import { repository } from "../../control-plane/publication/rig.ts"

export const buildPrograms = async (directory: string): Promise<void> => {
  const supervisor = Bun.build({
    entrypoints: [join(repository, "test/fixtures/faults/supervisor.ts")],
    outdir: directory,
    naming: "supervisor.[ext]",
    target: "bun",
    format: "cjs",
    bytecode: true,
  })
  await Promise.all([supervisor, buildSessionHost(directory)])
}
