/**
 * For processes of the soak: on SIGUSR2 collect all garbage, then leave what the heap holds in a file that the process
 * id names, in the folder for temporary files. Nothing of the product does this.
 */
import { heapStats } from "bun:jsc"
import { renameSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"

export interface Heap {
  readonly bytes: number
  readonly objects: number
}

export const heapFile = (folder: string, pid: number): string => join(folder, `heap-${pid}.json`)

export const collectOnSignal = (): void => {
  process.on("SIGUSR2", () => {
    Bun.gc(true)
    const { heapSize, objectCount } = heapStats()
    const file = heapFile(tmpdir(), process.pid)
    const heap: Heap = { bytes: heapSize, objects: objectCount }
    writeFileSync(`${file}.part`, JSON.stringify(heap))
    renameSync(`${file}.part`, file)
  })
}
