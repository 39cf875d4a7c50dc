/** Everything that a run needs: a control plane, the link to it, a disk, a history; and the end of all of it. */
import { closeSync, mkdirSync, openSync, rmSync, writeFileSync } from "node:fs"
import { mkdtemp, realpath } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { programs } from "../../control-plane/drivers/rig.ts"
import { readFinalState } from "../history/final.ts"
import type { Entry, FinalState } from "../history/record.ts"
import { type Book, openBook } from "./book.ts"
import { type Disk, mountDisk } from "./disk.ts"
import { type Link, openLink } from "./link.ts"
import { openPlane, type Plane } from "./plane.ts"
import { buildPrograms } from "./programs.ts"
import { pidsOf, remainsOf } from "./remains.ts"

export interface World {
  readonly directory: string
  readonly plane: Plane
  readonly link: Link
  readonly disk: Disk
  readonly book: Book
  /** Publishes the workload, until it is published. */
  readonly publish: () => Promise<void>
  /** Ends everything in order, and tells of the end. */
  readonly end: () => Promise<Ended>
  /** For a run that failed: nothing of it may stay. */
  readonly destroy: () => Promise<void>
}

interface Ended {
  readonly history: readonly Entry[]
  readonly state: FinalState
  readonly remains: readonly string[]
}

/** Short, so that a freeze outlasts a lease and a run sees many renewals. */
const settings = { leaseMs: 4_000, leaseRenewMs: 500, stopGraceMs: 400 }
const publishAgainMs = 100

export const openWorld = async (random: () => number): Promise<World> => {
  const directory = await realpath(await mkdtemp(join(tmpdir(), "faults-")))
  for (const name of ["tmp", "programs"]) mkdirSync(join(directory, name), { mode: 0o700 })
  const log = openSync(join(directory, "control-plane.log"), "a")
  await buildPrograms(join(directory, "programs"))
  const disk = await mountDisk(directory)
  const book = openBook(directory)
  let plane: Plane | undefined
  const link = openLink({ controlPlane: () => plane?.url() ?? "", random })
  writeFileSync(join(directory, "link"), link.url)
  const running = await openPlane({ directory, log, settings })
  plane = running

  const close = async (): Promise<number> => {
    const code = await running.stop()
    await link.close()
    book.close()
    closeSync(log)
    return code
  }
  const remove = async (): Promise<void> => {
    if (disk.kind === "own") await disk.unmount()
    rmSync(directory, { recursive: true, force: true })
  }

  return {
    directory,
    plane: running,
    link,
    disk,
    book,
    publish: async () => {
      for (;;) {
        const published = await running.client.publish({ directory: join(programs, "faults") })
        if (published.ok) return
        await Bun.sleep(publishAgainMs)
      }
    },
    end: async () => {
      const code = await close()
      const history = book.read()
      const state = readFinalState(join(directory, "state/control-plane.sqlite"))
      const left = await remainsOf(directory)
      await remove()
      const remains = code === 0 ? left : [...left, `the control plane ended with ${code}`]
      return { history, state, remains }
    },
    destroy: async () => {
      await close().catch(() => undefined)
      for (const pid of await pidsOf(directory)) process.kill(pid, "SIGKILL")
      await Bun.sleep(publishAgainMs)
      await remove()
    },
  }
}
