import { expect, test } from "bun:test"
import { code, startRoot, text, value } from "../rig.ts"
import {
  ask,
  call,
  commandsOf,
  eachTest,
  enqueue,
  finish,
  type Member,
  runningChild,
  seen,
  stopped,
} from "./scene.ts"

const rig = eachTest()

const family = async (): Promise<{ readonly root: Member; readonly child: Member }> => {
  rig().publish(["lead", "helper"])
  const root = startRoot(rig(), "lead")
  return { root, child: await runningChild(rig(), root, "helper") }
}

const send = (caller: Member, target: Member, turnId = target.turnId, words = "hello") =>
  ask(caller, "send_turn", { sessionId: target.sessionId, turnId, message: text(words) })

test("R117 R119 R120 a message goes to the exact running Turn, in order, and its receipt is not about delivery", async () => {
  const { root, child } = await family()
  const receipts = [
    value(await send(root, child, child.turnId, "one")),
    value(await send(root, child, child.turnId, "two")),
  ]
  for (const receipt of receipts)
    expect(receipt).toEqual({ id: expect.stringMatching(/^msg_/), turnId: child.turnId })
  expect(commandsOf(child, "message")).toEqual(
    ["one", "two"].map((words, index) => ({
      type: "message",
      sessionId: child.sessionId,
      turnId: child.turnId,
      message: { messageId: receipts[index]?.["id"], content: text(words) },
    })),
  )
})

test("R120 a repeated message is one delivery with one id", async () => {
  const { root, child } = await family()
  const request = {
    sessionId: child.sessionId,
    turnId: child.turnId,
    message: text("once"),
    idempotencyKey: "m",
  }
  const first = value(await call(root, "send_turn", request))
  expect(value(await call(root, "send_turn", request))).toEqual(first)
  expect(commandsOf(child, "message").length).toBe(1)
})

test("R118 queued, settled, stopping and held Turns are message_closed, and nothing is created", async () => {
  const { root, child } = await family()
  const queued = await enqueue(root, child)
  expect(code(await send(root, child, queued))).toBe("message_closed")
  await ask(root, "interrupt_turn", { sessionId: child.sessionId, turnId: child.turnId })
  expect(code(await send(root, child))).toBe("message_closed")
  stopped(child, "interrupted")
  expect(code(await send(root, child))).toBe("message_closed")
  child.supervisor.startTurn(child.sessionId, queued)
  rig().receiver.control({ kind: "storage_pressure", sessionId: child.sessionId })
  expect(code(await send(root, child, queued))).toBe("message_closed")
  expect(commandsOf(child, "message")).toEqual([])
  expect(seen(rig(), child).turns.length).toBe(2)
})

test("a message that the link has not brought yet is part of the answer to the next attach, once", async () => {
  const { root, child } = await family()
  child.supervisor.pull()
  const receipt = value(await send(root, child))
  const living = [
    {
      sessionId: child.sessionId,
      generation: child.supervisor.generation(child.sessionId),
      state: "running" as const,
      turnId: child.turnId,
    },
  ]
  const messages = (attached: ReturnType<typeof child.supervisor.attach>) =>
    attached.ok
      ? attached.value.run.flatMap((entry) => entry.messages.map((message) => message.messageId))
      : []
  expect(messages(child.supervisor.attach(living))).toEqual([receipt["id"]] as never)
  expect(messages(child.supervisor.attach(living))).toEqual([])
})

test("messages that nobody took are told to onlookers", async () => {
  const { root, child } = await family()
  const told: unknown[] = []
  rig().receiver.onEvent((event) => event.type === "messages_dropped" && told.push(event))
  const messageId = value(await send(root, child))["id"] as never
  child.supervisor.emit({
    type: "messages_dropped",
    sessionId: child.sessionId,
    turnId: child.turnId,
    messageIds: [messageId],
  })
  finish(child)
  expect(told).toMatchObject([{ turnId: child.turnId, count: 1 }])
})
