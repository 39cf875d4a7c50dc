import { expect, test } from "bun:test"
import { killEverything } from "@computerd/computerd/kill"

const doomed = { computers: new Set<string>(), stateDirectory: "/nowhere" }
const after = (delayMs: number, run: () => void) => {
  const timer = setTimeout(run, delayMs)
  return () => clearTimeout(timer)
}

test("what a look finds is killed even when that look alone took longer than all may", async () => {
  const child = Bun.spawn(["/bin/sleep", "600"])
  let now = 0
  const late = () => {
    now += 60_000
    return now
  }
  try {
    expect(await killEverything(doomed, { now: late, after })).toEqual([])
    await child.exited
    expect(child.signalCode).toBe("SIGKILL")
  } finally {
    child.kill("SIGKILL")
  }
})
