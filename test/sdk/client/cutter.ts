/** A way to a server that is cut at random: every connection through it is broken within its number of bytes. */
import { connect, createServer, type Socket } from "node:net"

/** Small and seeded: a failure is run again from what it prints (mulberry32). */
export const randomFrom = (seed: number) => {
  let state = seed
  return (): number => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296
  }
}

const cutWithinMs = 30

export interface CutterOptions {
  readonly port: number
  readonly random: () => number
  /** Of the answer; a connection that was lucky is not cut. */
  readonly cutWithinBytes: number
  readonly cutChance: number
}

export const openCutter = async ({ port, random, cutWithinBytes, cutChance }: CutterOptions) => {
  const sockets = new Set<Socket>()
  let cuts = 0
  const server = createServer((near) => {
    const far = connect(port, "127.0.0.1")
    const end = (): void => {
      near.destroy()
      far.destroy()
    }
    let left = random() < cutChance ? Math.ceil(random() * cutWithinBytes) : Number.POSITIVE_INFINITY
    for (const socket of [near, far]) {
      sockets.add(socket)
      socket.on("error", end)
      socket.on("close", () => {
        sockets.delete(socket)
        end()
      })
    }
    near.on("data", (bytes) => far.write(bytes))
    far.on("data", (bytes: Buffer) => {
      const passed = bytes.subarray(0, left)
      left -= passed.length
      if (left > 0) near.write(passed)
      else if (passed.length > 0) {
        cuts += 1
        // A reader that has not looked yet loses with the connection what had come over it, and gets nowhere.
        near.write(passed, () => setTimeout(end, random() * cutWithinMs))
      }
    })
  })
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
  const address = server.address()
  if (address === null || typeof address === "string") throw new Error("no port")
  return {
    url: `http://127.0.0.1:${address.port}`,
    cuts: () => cuts,
    close: async () => {
      for (const socket of sockets) socket.destroy()
      await new Promise<void>((resolve) => server.close(() => resolve()))
    },
  }
}
