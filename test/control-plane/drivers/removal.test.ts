/** A Computer is removed once nothing of it runs, or is about to. */
import { expect, test } from "bun:test"
import { mkdtemp, rm, stat } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { createComputer } from "@computerd/control-plane/drivers/local/computer"
import { computerDirectory, makeDirectory } from "@computerd/control-plane/drivers/local/directory"
import { systemPorts } from "@computerd/control-plane/ports"
import { idSource } from "@computerd/protocol/ids"
import { templateOf } from "../rig.ts"

/** The bounds of an end pass this much faster. */
const faster = 50
const newId = idSource(() => Bun.randomUUIDv7())

test("C4 the directory and the ports of a Computer stay while a start of it is under way", async () => {
  const state = await mkdtemp(join(tmpdir(), "removal-"))
  try {
    const id = newId("cmp")
    const directory = computerDirectory(state, id)
    await makeDirectory(directory)
    const system = systemPorts({ record: () => undefined })
    const released: string[] = []
    const slot = Promise.withResolvers<() => void>()
    const computer = createComputer(
      { id, directory, template: templateOf("basic") },
      {
        receiver: {
          registerCredential: () => undefined,
          computerState: () => undefined,
          computerLost: () => undefined,
        },
        ports: { ...system, after: (delayMs, run) => system.after(delayMs / faster, run) },
        content: { layerDirectory: () => state },
        slots: { take: () => slot.promise },
        supervisorCommand: ["/bin/false"],
        sessionHostCommand: ["/bin/false"],
        environment: {},
        controlPlaneUrl: "http://127.0.0.1:1",
        portAllocation: {
          allocate: () => ({ first: 1, last: 1 }),
          restore: () => undefined,
          release: (of) => released.push(of),
        },
        lifeline: false,
        unenforced: false,
        reviveMs: 0,
        disconnect: () => undefined,
      },
    )
    const isThere = (): Promise<boolean> =>
      stat(directory.root).then(
        () => true,
        () => false,
      )
    computer.run()
    expect(await computer.remove()).toEqual([`what was under way on ${id} could not be ended`])
    expect([await isThere(), released]).toEqual([true, []])

    slot.reject(new Error("given up"))
    expect(await computer.remove()).toEqual([])
    expect([await isThere(), released]).toEqual([false, [id]])
  } finally {
    await rm(state, { recursive: true, force: true })
  }
})
