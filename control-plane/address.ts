/**
 * The address of the link across restarts. Supervisors know only the address that they were configured with, so a
 * control plane that comes back listens where it listened before.
 */
import { readFile } from "node:fs/promises"
import { join } from "node:path"
import { z } from "zod"
import { portSlices, readEphemeralRange } from "./drivers/local/port-slices.ts"
import { writeDurably } from "./durable.ts"

const Remembered = z.strictObject({ hostname: z.string(), port: z.int().min(1).max(65_535) })
export type Address = Readonly<z.infer<typeof Remembered>>

const fileOf = (stateDirectory: string): string => join(stateDirectory, "address.json")

export const recallAddress = async (stateDirectory: string): Promise<Address | undefined> => {
  try {
    return Remembered.parse(JSON.parse(await readFile(fileOf(stateDirectory), "utf8")))
  } catch {
    return undefined
  }
}

export const rememberAddress = (stateDirectory: string, address: Address): Promise<void> =>
  writeDurably(fileOf(stateDirectory), JSON.stringify(address))

/** Ports that no outgoing connection takes while the control plane is down, in an order of this directory's own. */
export const candidatePorts = async (stateDirectory: string): Promise<readonly number[]> => {
  // A supervisor begins with the first port of its slice, so the last ones are free the longest.
  const ports = portSlices(await readEphemeralRange()).map((slice) => slice.last)
  const start = Number(BigInt(Bun.hash(`address of ${stateDirectory}`)) % BigInt(ports.length))
  return [...ports.slice(start), ...ports.slice(0, start)]
}
