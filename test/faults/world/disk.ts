/** A disk of its own for the state of supervisors, which can be filled; where none can be mounted, there is none. */
import { mkdirSync, rmSync, statfsSync } from "node:fs"
import { join } from "node:path"

export type Disk =
  | {
      readonly kind: "own"
      readonly fill: () => void
      readonly free: () => void
      readonly unmount: () => Promise<void>
    }
  | { readonly kind: "none"; readonly why: string }

/** Beyond what any world needs; it takes memory only for what is written. */
const roomy = "size=4g"

const run = async (command: readonly string[]): Promise<string | undefined> => {
  try {
    const child = Bun.spawn([...command], { stdin: "ignore", stdout: "ignore", stderr: "pipe" })
    const said = await child.stderr.text()
    return (await child.exited) === 0 ? undefined : said.trim()
  } catch (error) {
    return error instanceof Error ? error.message : String(error)
  }
}

const resize = (at: string, size: string): boolean =>
  Bun.spawnSync(["mount", "-o", `remount,${size}`, at]).exitCode === 0

const fillTries = 100

/** Leaves no room beside what is used; the kernel refuses when more has come to be used meanwhile. */
const fill = (at: string): void => {
  for (let tries = 0; tries < fillTries; tries += 1) {
    const { blocks, bfree, bsize } = statfsSync(at)
    if (resize(at, `size=${(blocks - bfree) * bsize}`)) return
  }
  throw new Error(`${at} could not be filled`)
}

const free = (at: string): void => {
  if (!resize(at, roomy)) throw new Error(`${at} could not be made roomy again`)
}

export const mountDisk = async (directory: string): Promise<Disk> => {
  const at = join(directory, "disk")
  mkdirSync(at, { mode: 0o700 })
  const failed = await run(["mount", "-t", "tmpfs", "-o", `${roomy},mode=700`, "tmpfs", at])
  if (failed !== undefined) {
    rmSync(at, { recursive: true })
    return { kind: "none", why: failed }
  }
  return {
    kind: "own",
    fill: () => fill(at),
    free: () => free(at),
    unmount: async () => {
      const left = await run(["umount", at])
      if (left !== undefined) throw new Error(`the disk is still in use: ${left}`)
    },
  }
}
