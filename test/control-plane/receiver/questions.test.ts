/** Questions to people: roots ask, children do not, and a Session that ends is not answered. */
import { expect, test } from "bun:test"
import { RequestId } from "@computerd/protocol/ids"
import { startRoot, text } from "../rig.ts"
import { commandsOf, eachTest, finish, type Member, runningChild, seen, statusOf } from "./scene.ts"

const at = eachTest()
const requestId = RequestId.parse("req_01900000-0000-7000-8000-00000000000a")

const question = (member: Member): void => {
  member.supervisor.emit({
    type: "question",
    sessionId: member.sessionId,
    generation: member.supervisor.generation(member.sessionId),
    turnId: member.turnId,
    requestId,
    question: text("may I?"),
  })
}

const refused = (code: string) => [{ requestId, result: { ok: false, error: { code } } }]

test("R81 a child's question is refused and the child runs on", async () => {
  at().publish(["lead", "helper"])
  const child = await runningChild(at(), startRoot(at(), "lead"), "helper")
  question(child)
  expect(commandsOf(child, "answer")).toMatchObject(refused("root_session_required"))
  expect(seen(at(), child)).toMatchObject({ status: "open", holds: [] })
  finish(child)
  expect(statusOf(at(), child)).toBe("completed")
})

test("R133 closing or cancelling a Session cancels its open question, and a later one is refused", () => {
  at().publish(["lead"])
  for (const kind of ["close", "cancel"] as const) {
    const root = startRoot(at(), "lead")
    question(root)
    expect(commandsOf(root, "answer")).toEqual([])
    at().receiver.control({ kind, sessionId: root.sessionId })
    expect(commandsOf(root, "answer")).toMatchObject(refused("cancelled"))
    question(root)
    expect(commandsOf(root, "answer").length).toBe(2)
  }
})
