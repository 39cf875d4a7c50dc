import { afterEach, expect, test } from "bun:test"
import { type HostOptions, type HostProcess, program, startHost } from "./process.ts"

const running: HostProcess[] = []
afterEach(async () => {
  await Promise.all(running.splice(0).map((host) => host.end()))
})
const host = async (source: string, options?: HostOptions): Promise<HostProcess> => {
  const started = await startHost(source, options)
  running.push(started)
  return started
}

test("an Agent answers a Turn", async () => {
  const process = await (await host(program(`turn: (turn) => turn.input`))).ready()
  expect(await process.run("hello")).toEqual({
    status: "completed",
    result: [{ type: "text", text: "hello" }],
  })
})
