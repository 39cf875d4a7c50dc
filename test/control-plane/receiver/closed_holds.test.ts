/** What is said of holds on a Session that has closed. */
import { expect, test } from "bun:test"
import { code, startRoot, value } from "../rig.ts"
import { ask, call, eachTest, finish, type Member, runningChild } from "./scene.ts"

const at = eachTest()

const sessionHolds = async (caller: Member, target: Member): Promise<readonly { can_release: boolean }[]> => {
  const session = value(await call(caller, "inspect_session", { sessionId: target.sessionId }))
  return session["holds"] as unknown as readonly { can_release: boolean }[]
}

test("R140 can_release says what resume_session would answer, also once the held Session is closed", async () => {
  at().publish(["lead", "helper"])
  const root = startRoot(at(), "lead")
  const child = await runningChild(at(), root, "helper")
  finish(child)
  const holdId = value(await ask(root, "interrupt_session", { sessionId: child.sessionId }))["holdId"] ?? null
  expect((await sessionHolds(root, child)).map((hold) => hold.can_release)).toEqual([true])
  value(await ask(root, "close_session", { sessionId: child.sessionId }))
  expect(code(await ask(root, "resume_session", { sessionId: child.sessionId, holdId }))).toBe(
    "invalid_arguments",
  )
  expect((await sessionHolds(root, child)).filter((hold) => hold.can_release)).toEqual([])
})
