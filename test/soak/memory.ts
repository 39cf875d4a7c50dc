/** What one process holds after a collection. Several collections, and the median of each figure: one alone is noise. */
import { readdir, readFile, rm } from "node:fs/promises"
import { until } from "../control-plane/drivers/rig.ts"
import { type Heap, heapFile } from "./collect.ts"

export interface Memory {
  /** Anonymous pages, the only ones that a leak adds to: those of files belong to the kernel and to other processes too. */
  readonly anonymous: number
  readonly resident: number
  readonly proportional: number
  readonly heap: number
  readonly objects: number
  readonly descriptors: number
}

const collections = 3

const kib = (rollup: string, name: string): number =>
  Number(new RegExp(`^${name}:\\s+(\\d+) kB`, "m").exec(rollup)?.[1] ?? Number.NaN) * 1024

const collected = async (pid: number, temporary: string): Promise<Heap> => {
  const file = heapFile(temporary, pid)
  await rm(file, { force: true })
  process.kill(pid, "SIGUSR2")
  const heap = await until(`the collection of ${pid}`, async () => {
    if (await Bun.file(file).exists()) return (await Bun.file(file).json()) as Heap
    await Bun.sleep(50)
    return undefined
  })
  await rm(file)
  return heap
}

const measureOnce = async (pid: number, temporary: string): Promise<Memory> => {
  const heap = await collected(pid, temporary)
  const rollup = await readFile(`/proc/${pid}/smaps_rollup`, "utf8")
  return {
    anonymous: kib(rollup, "Pss_Anon"),
    resident: kib(rollup, "Rss"),
    proportional: kib(rollup, "Pss"),
    heap: heap.bytes,
    objects: heap.objects,
    descriptors: (await readdir(`/proc/${pid}/fd`)).length,
  }
}

export const median = (values: readonly number[]): number =>
  values.toSorted((one, two) => one - two)[values.length >> 1] ?? Number.NaN

const figures = ["anonymous", "resident", "proportional", "heap", "objects", "descriptors"] as const

export const medianOf = (all: readonly Memory[]): Memory =>
  Object.fromEntries(figures.map((name) => [name, median(all.map((one) => one[name]))])) as never as Memory

export const measure = async (pid: number, temporary: string): Promise<Memory> => {
  const all: Memory[] = []
  for (let count = 0; count < collections; count += 1) {
    all.push(await measureOnce(pid, temporary))
    await Bun.sleep(300)
  }
  return medianOf(all)
}
