import { afterEach, expect, test } from "bun:test"
import { createJournal } from "@computerd/supervisor/journal"
import type { ProcessStamp } from "@computerd/supervisor/process/identity"
import { lives, readBootId, stampOf } from "@computerd/supervisor/process/procfs"
import { createExitRecorder, type ExitRecorder } from "@computerd/supervisor/process/recorder"
import { ports, settled } from "../harness.ts"

const computerId = ports.newId("cmp")
const recorders: ExitRecorder[] = []
const children: Bun.Subprocess[] = []
let holder: ProcessStamp | undefined

afterEach(async () => {
  for (const child of children.splice(0)) {
    child.kill("SIGKILL")
    await child.exited
  }
  for (const recorder of recorders.splice(0)) recorder.close()
  if (holder !== undefined && lives(holder)) process.kill(holder.pid, "SIGKILL")
  holder = undefined
})

const open = (idleMs?: number): ExitRecorder => {
  const made = createExitRecorder({
    timers: ports.timers,
    journal: createJournal(ports.clock),
    computerId,
    bootId: readBootId(),
    previous: holder,
    remember: (next) => {
      holder = next
    },
    isAwaited: () => true,
    ...(idleMs === undefined ? {} : { idleMs }),
  })
  recorders.push(made)
  return made
}

const spawn = (count: number): readonly { child: Bun.Subprocess; stamp: ProcessStamp }[] =>
  Array.from({ length: count }, () => {
    const child = Bun.spawn(["sleep", "600"], { stdio: ["ignore", "ignore", "ignore"] })
    children.push(child)
    return { child, stamp: stampOf(child.pid, readBootId())! }
  })

test("HQ1 a queue that holds much that is over is replaced, and keeps all that lives through it", async () => {
  const recorder = open()
  const [stays, ...others] = spawn(12)
  recorder.keep(stays!.stamp)
  const first = await settled(() => holder)
  for (let round = 0; round < 30; round += 1) {
    for (const { stamp } of others) recorder.keep(stamp)
    for (const { stamp } of others) recorder.forget(stamp)
  }
  await settled(() => holder !== first && !lives(first))
  stays!.child.kill("SIGTERM")
  await stays!.child.exited
  recorders.pop()!.close()
  expect(open().exitOf(stays!.stamp)).toEqual({ kind: "signal", signal: "SIGTERM" })
})

test("what many processes left is taken over whole, in messages of many", async () => {
  const first = open()
  const crowd = spawn(150)
  for (const { stamp } of crowd) first.keep(stamp)
  await settled(() => holder)
  recorders.pop()!.close()
  const second = open()
  await settled(() => second.started().length === 1)
  recorders.pop()!.close()
  for (const { child } of crowd) child.kill("SIGKILL")
  await Promise.all(crowd.map(({ child }) => child.exited))
  const third = open()
  const told = crowd.map(({ stamp }) => third.exitOf(stamp))
  expect(told.filter((reason) => reason?.kind === "signal" && reason.signal === "SIGKILL")).toHaveLength(150)
})

test("a holder with nothing to keep ends by itself, and another comes with the next process", async () => {
  const recorder = open(20)
  const [one] = spawn(1)
  recorder.keep(one!.stamp)
  const first = await settled(() => holder)
  recorder.forget(one!.stamp)
  await settled(() => !lives(first) && recorder.started().length === 0)
  recorder.keep(one!.stamp)
  await settled(() => holder !== first && recorder.started().length === 1)
})
