/** A small disk of its own for the state of supervisors, which can be filled; where none can be mounted, there is none. */
import { closeSync, mkdirSync, openSync, rmSync, writeSync } from "node:fs"
import { join } from "node:path"

export type Disk =
  | {
      readonly kind: "small"
      readonly fill: () => void
      readonly free: () => void
      readonly unmount: () => Promise<void>
    }
  | { readonly kind: "none"; readonly why: string }

/** Room for the ballast of every supervisor of a world. */
const megabytes = 320
const block = Buffer.alloc(64 * 1024)

const run = async (command: readonly string[]): Promise<string | undefined> => {
  try {
    const child = Bun.spawn([...command], { stdin: "ignore", stdout: "ignore", stderr: "pipe" })
    const said = await child.stderr.text()
    return (await child.exited) === 0 ? undefined : said.trim()
  } catch (error) {
    return error instanceof Error ? error.message : String(error)
  }
}

/** Writes until nothing more fits, also less than a block. */
const fill = (ballast: string): void => {
  const descriptor = openSync(ballast, "a")
  try {
    for (let size = block.length; size > 0; ) {
      try {
        writeSync(descriptor, block.subarray(0, size))
      } catch {
        size = Math.floor(size / 2)
      }
    }
  } finally {
    closeSync(descriptor)
  }
}

export const mountDisk = async (directory: string): Promise<Disk> => {
  const at = join(directory, "disk")
  mkdirSync(at, { mode: 0o700 })
  const failed = await run(["mount", "-t", "tmpfs", "-o", `size=${megabytes}m,mode=700`, "tmpfs", at])
  if (failed !== undefined) {
    rmSync(at, { recursive: true })
    return { kind: "none", why: failed }
  }
  const ballast = join(at, "ballast")
  return {
    kind: "small",
    fill: () => fill(ballast),
    free: () => rmSync(ballast, { force: true }),
    unmount: async () => {
      const left = await run(["umount", at])
      if (left !== undefined) throw new Error(`the disk is still in use: ${left}`)
    },
  }
}
