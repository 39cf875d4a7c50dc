import { expect, test } from "bun:test"
import { answerOf } from "@computerd/computerd/dev/answer"
import type { ComputerRow, FleetSnapshot, SessionView, TurnView } from "@computerd/computerd/dev/view/fleet"
import { eventLine } from "@computerd/computerd/dev/view/plain"
import { fleetSubject } from "@computerd/computerd/dev/view/subject"
import { treeFrame } from "@computerd/computerd/dev/view/tree"
import { writeAnswer } from "@computerd/computerd/output"
import { createLiveView } from "@computerd/computerd/view/live"
import { elapsed, fitted, oneLine, shortId } from "@computerd/computerd/view/text"
import {
  ComputerId,
  DefinitionKey,
  DeploymentId,
  Digest,
  EnvironmentKey,
  SessionId,
  TurnId,
} from "@computerd/protocol/ids"
import fc from "fast-check"
import { sink } from "./sink.ts"

const uuid = (n: number): string => `00000000-0000-7000-8000-${String(n).padStart(12, "0")}`
const base = {
  environment: EnvironmentKey.parse("default"),
  deploymentId: DeploymentId.parse(`dep_${uuid(0)}`),
}

const computer = (n: number, more: Partial<ComputerRow> = {}): ComputerRow => ({
  ...base,
  id: ComputerId.parse(`cmp_${uuid(n)}`),
  template: DefinitionKey.parse("box"),
  manifest: {
    id: DefinitionKey.parse("box"),
    image: { name: "box", steps: [] },
    resources: { cpu: 1, memoryBytes: 1 },
    network: { blockAll: false },
    secrets: [],
    hasPrepare: false,
    prepareNetwork: { blockAll: true },
    prepareSecrets: [],
    preparation: Digest.parse("0".repeat(64)),
    deleteAfterUnusedMs: null,
  },
  bundle: Digest.parse("0".repeat(64)),
  status: "available",
  residency: "running",
  desired: "running",
  error: null,
  attached: true,
  createdAtMs: n,
  updatedAtMs: n,
  ...more,
})

const turn = (n: number, more: Partial<TurnView> = {}): TurnView => ({
  id: TurnId.parse(`trn_${uuid(n)}`),
  sessionId: SessionId.parse(`ses_${uuid(n)}`),
  sequence: 1,
  status: "running",
  waitingFor: null,
  createdAtMs: 1_000,
  startedAtMs: 2_000,
  settledAtMs: null,
  ...more,
})

const session = (n: number, turns: readonly TurnView[]): SessionView => ({
  ...base,
  id: SessionId.parse(`ses_${uuid(n)}`),
  agent: DefinitionKey.parse("worker"),
  computerId: ComputerId.parse(`cmp_${uuid(n)}`),
  role: "root",
  key: null,
  parent: null,
  requester: null,
  status: "open",
  process: "ready",
  generation: 1,
  holds: [],
  turns,
  createdAtMs: n,
  idleSinceMs: null,
  closedAtMs: null,
})

const fleet = (count: number, status: (n: number) => Partial<TurnView> = () => ({})): FleetSnapshot => {
  const numbers = Array.from({ length: count }, (_, n) => n + 1)
  return {
    atMs: 5_000,
    computers: numbers.map((n) => computer(n)),
    sessions: numbers.map((n) => session(n, [turn(n, status(n))])),
  }
}

const frame = (snapshot: FleetSnapshot, columns = 100, rows = 24) =>
  treeFrame({ snapshot, startedAtMs: 0, screen: { columns, rows }, interrupted: false })

test("the tree shows Computers, their Sessions and their Turns with state and elapsed time", () => {
  expect(frame(fleet(1))).toEqual([
    "1 Computer · 1 Session · 1 Turn running · 5.0s",
    "● Computer cmp_…00000001 box: running",
    "  ● Session ses_…00000001 worker: process ready",
    "    ● Turn 1: running 3.0s",
  ])
})

test("why something waits or failed stands beside it", () => {
  const waiting = { status: "queued", waitingFor: "no room\u001b[2J" } as const
  const failed = {
    status: "failed",
    settledAtMs: 4_000,
    error: { code: "handler_failed", message: "a\nb" },
  } as const
  const lines = frame(fleet(2, (n) => (n === 1 ? waiting : failed))).join("\n")
  expect(lines).toContain("○ Turn 1: queued 3.0s (no room [2J)")
  expect(lines).toContain("✗ Turn 1: failed 2.0s (handler_failed: a b)")
})

test("a Computer that cannot be made says why", () => {
  const snapshot = { ...fleet(1), computers: [computer(1, { residency: "unavailable", error: "no disk" })] }
  expect(frame(snapshot)[1]).toBe("● Computer cmp_…00000001 box: unavailable (no disk)")
})

test("what does not fit shrinks to a line, and what is over is counted; what runs stays", () => {
  expect(frame(fleet(12), 100, 24)).toHaveLength(13)
  const mostlyDone = fleet(50, (n) => (n > 47 ? {} : { status: "completed", settledAtMs: 3_000 }))
  const lines = frame(mostlyDone, 100, 10)
  expect(lines).toHaveLength(9)
  expect(lines.filter((line) => line.startsWith("●"))).toHaveLength(3)
  expect(lines.at(-1)).toBe("  and 43 more: 43 done")
})

test("no frame is larger than its screen", () => {
  fc.assert(
    fc.property(
      fc.nat(60),
      fc.integer({ min: 12, max: 200 }),
      fc.integer({ min: 4, max: 60 }),
      (n, columns, rows) => {
        const lines = frame(fleet(n), columns, rows)
        expect(lines.length).toBeLessThan(rows)
        for (const line of lines) expect(Bun.stringWidth(line)).toBeLessThan(columns)
      },
    ),
  )
})

test("the live view erases what it drew, also after the terminal became narrower, and gives the cursor back", () => {
  let text = ""
  let columns = 100
  let resized = (): void => undefined
  const terminal = {
    write: (more: string) => {
      text += more
    },
    size: () => ({ columns, rows: 24 }),
    onResize: (listener: () => void) => {
      resized = listener
      return () => undefined
    },
  }
  let ended = false
  const ports = { now: () => 0, every: () => () => undefined }
  const deps = { ports, interrupted: () => ended }
  const view = createLiveView(
    fleetSubject({ snapshot: () => fleet(1), onEvent: () => () => undefined }),
    terminal,
    deps,
  )
  text = ""
  columns = 30
  resized()
  // At 30 columns the first three lines took two rows each, the last one.
  expect(text.startsWith("\r\u001b[7A\u001b[0J")).toBe(true)
  text = ""
  view.note("hello\u0007")
  expect(text).toStartWith("\r\u001b[4A\u001b[0Jhello\n")
  text = ""
  for (let n = 1; n <= 50; n += 1) view.output("worker", `line ${n}`)
  expect(text).toBe("")
  ended = true
  view.close()
  expect(text).toContain("\nworker | line 40\n… 10 lines of output not shown\ninterrupted · 1 Computer")
  expect(text).not.toContain("line 41")
  expect(text).toEndWith("\u001b[?25h\n")
})

test("events become lines with whole ids", () => {
  const { id: turnId, sessionId } = turn(1)
  const error = { code: "x", message: "y\n" }
  const event = { atMs: 1_500, type: "turn_changed", added: false, sequence: 1, status: "failed" } as const
  const line = eventLine({ ...event, sessionId, turnId, error }, 1_000)
  expect(line).toBe(`0.5s Turn ${turnId} of Session ${sessionId}: failed (x: y )`)
})

test("durations, ids and foreign text are short and harmless", () => {
  expect([0, 99, 12_345, 60_000, 125_000, 3_720_000].map(elapsed)).toEqual([
    "0.0s",
    "0.0s",
    "12.3s",
    "1m 00s",
    "2m 05s",
    "1h 02m",
  ])
  expect(shortId("cmp_0190-1234-abcdefgh")).toBe("cmp_…abcdefgh")
  expect(oneLine("a\u001b[31m\n\u202eb")).toBe("a [31m b")
  expect(fitted("日本語テキスト", 7)).toBe("日本語…")
})

test("on a terminal an answer keeps its lines and emoji, and cannot steer it; elsewhere it is as it was given", async () => {
  const given = "a\u001b[2J\u001b]0;x\u0007\u009b31m\u202eb\u0008\r\n\tline 👩‍💻\n"
  for (const isTTY of [true, false]) {
    const { stream, text } = sink({ isTTY })
    await writeAnswer(stream, given)
    expect(text()).toBe(isTTY ? "a [2J ]0;x  31m b \n\tline 👩‍💻\n" : given)
  }
})

test("a response is printed as it is, a result as JSON, a failure as code and message", () => {
  const output = { text: "wrote\n", truncated: false }
  const answer = (settled: TurnView, form: "readable" | "json") => answerOf({ turn: settled, output }, form)
  const completed = { status: "completed", settledAtMs: 3_000 } as const
  const responded = turn(1, { ...completed, result: 1, response: [{ type: "text", text: "# Hi" }] })
  expect(answer(responded, "readable")).toEqual({ out: "# Hi\n", error: "", exitCode: 0 })
  expect(answer(turn(1, { ...completed, result: { a: 1 } }), "readable").out).toBe('{\n  "a": 1\n}\n')
  const failed = turn(1, { status: "failed", error: { code: "handler_failed", message: "boom" } })
  expect(answer(failed, "readable")).toEqual({
    out: "",
    error: "computerd: the Turn ended failed: handler_failed: boom\n",
    exitCode: 1,
  })
  expect(JSON.parse(answer(failed, "json").out)).toEqual({
    sessionId: failed.sessionId,
    turnId: failed.id,
    status: "failed",
    error: { code: "handler_failed", message: "boom" },
    output: "wrote\n",
  })
})
