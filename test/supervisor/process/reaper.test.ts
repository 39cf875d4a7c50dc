import { expect, test } from "bun:test"
import { join } from "node:path"

test("RP1 A.6 A.7 of three thousand orphans no zombie stays, and every exit code of the supervisor's own children is heard", async () => {
  const program = join(import.meta.dir, "../programs/reaper.ts")
  const child = Bun.spawn([process.execPath, program, "3000", "200"], { stdout: "pipe", stderr: "inherit" })
  const said = JSON.parse(await child.stdout.text())
  expect(said).toMatchObject({ isSubreaper: true, left: [], hidden: [[], []], wrong: 0 })
  // They did come to it.
  expect(said.most).toBeGreaterThan(100)
  expect(await child.exited).toBe(0)
}, 30_000)
