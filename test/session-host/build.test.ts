import { expect, test } from "bun:test"
import { rm } from "node:fs/promises"
import { join } from "node:path"
import { buildSessionHost } from "@computerd/session-host/build"
import { hosts } from "./hosts.ts"
import { program, temporary } from "./process.ts"

const { start } = hosts()

test("the host as one file runs a program as the sources do, and needs nothing beside it", async () => {
  const directory = await temporary()
  try {
    const main = await buildSessionHost(directory)
    expect(main).toBe(join(directory, "session-host.js"))
    const host = await start(
      program(`init: () => 1, turn: (turn, ctx) => [turn.input.length, ctx.initResult]`),
      {
        main,
      },
    )
    await host.ready()
    expect(await host.run()).toEqual({ status: "completed", result: [1, 1] })
  } finally {
    await rm(directory, { recursive: true, force: true })
  }
})

test("nothing that a Session process loads before its program loads zod", async () => {
  const directory = await temporary()
  try {
    const text = await Bun.file(await buildSessionHost(directory)).text()
    expect(text).not.toContain("ZodError")
    expect(text).not.toContain("node:fs")
  } finally {
    await rm(directory, { recursive: true, force: true })
  }
})
