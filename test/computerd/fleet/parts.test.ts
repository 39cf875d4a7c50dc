import { expect, test } from "bun:test"
import { mkdtemp, realpath, rm, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { failedOf } from "@computerd/computerd/fleet/failure"
import { printedOutcome } from "@computerd/computerd/fleet/outcome"
import { gather } from "@computerd/computerd/fleet/pages"
import { placeOf } from "@computerd/computerd/fleet/place"
import { table } from "@computerd/computerd/fleet/table"
import { textOf } from "@computerd/computerd/fleet/text"
import { createInterrupt } from "@computerd/computerd/interrupt"
import { apiBodyMaxBytes } from "@computerd/protocol/api/limits"
import { HelmrApiError, HelmrConnectionError, HelmrError } from "@helmr/sdk"

test("the key comes from a file of its owner or from the environment, and a file that others can read is refused", async () => {
  const directory = await realpath(await mkdtemp(join(tmpdir(), "fleet-")))
  try {
    const keyFile = join(directory, "key")
    await writeFile(keyFile, "hlm_file\n", { mode: 0o600 })
    const environment = { HELMR_URL: "http://here", HELMR_API_KEY: "hlm_environment" }
    expect(await placeOf({ url: undefined, keyFile, environment })).toEqual({
      ok: true,
      value: { baseUrl: "http://here", apiKey: "hlm_file" },
    })
    expect(await placeOf({ url: "http://there", keyFile: undefined, environment })).toEqual({
      ok: true,
      value: { baseUrl: "http://there", apiKey: "hlm_environment" },
    })
    const open = join(directory, "open")
    await writeFile(open, "hlm_open", { mode: 0o644 })
    const empty = join(directory, "empty")
    await writeFile(empty, "\n", { mode: 0o600 })
    const refusals = {
      directory: await placeOf({ url: "http://x", keyFile: directory, environment: {} }),
      empty: await placeOf({ url: "http://x", keyFile: empty, environment: {} }),
      open: await placeOf({ url: "http://x", keyFile: open, environment: {} }),
      absent: await placeOf({ url: "http://x", keyFile: join(directory, "none"), environment: {} }),
      nowhere: await placeOf({ url: undefined, keyFile, environment: {} }),
      nobody: await placeOf({ url: "http://x", keyFile: undefined, environment: {} }),
    }
    const said = (name: keyof typeof refusals): string => JSON.stringify(refusals[name])
    expect(said("directory")).toContain("is no file")
    expect(said("empty")).toContain("is empty")
    expect(said("open")).toContain("can be read by others: chmod 600 it")
    expect(said("absent")).toContain("cannot be read: ENOENT")
    expect(said("nowhere")).toContain("give --url or HELMR_URL")
    expect(said("nobody")).toContain("give --key-file or HELMR_API_KEY")
    expect(JSON.stringify(refusals)).not.toContain("hlm_")
  } finally {
    await rm(directory, { recursive: true })
  }
})

test("columns are as wide as what is in them, and no cell can steer a terminal", () => {
  expect(
    table(
      ["A", "LONG"],
      [
        ["x\u001b[2J", null],
        ["wide cell", 7],
      ],
      "Nothing.",
    ),
  ).toBe("A          LONG\nx [2J      -\nwide cell  7\n")
  expect(table(["A"], [], "Nothing.")).toBe("Nothing.\n")
})

test("a list is read over as many pages as it takes, and no further", async () => {
  const asked: unknown[] = []
  const read = async (page: { readonly limit: number; readonly cursor: string | undefined }) => {
    asked.push(page)
    const from = Number(page.cursor ?? 0)
    const rows = Array.from({ length: Math.min(page.limit, 250 - from) }, (_, n) => from + n)
    const end = from + rows.length
    return { rows, ...(end < 250 ? { nextCursor: String(end) } : {}) }
  }
  const some = await gather(120, read, ({ rows }) => rows)
  expect({ count: some.rows.length, more: some.more }).toEqual({ count: 120, more: true })
  expect(asked).toEqual([
    { limit: 100, cursor: undefined },
    { limit: 20, cursor: "100" },
  ])
  const all = await gather(1_000, read, ({ rows }) => rows)
  expect(all).toEqual({ rows: Array.from({ length: 250 }, (_, n) => n), more: false })
})

test("text is taken from the command line or from standard input, within the bound of the API", async () => {
  const stdin = async function* (...chunks: readonly Uint8Array[]) {
    yield* chunks
  }
  const read = (...chunks: readonly Uint8Array[]) =>
    textOf({ kind: "stdin" }, { stdin: stdin(...chunks), interrupt: createInterrupt(() => () => undefined) })
  const whole = Buffer.from("häuser")
  const nothing = { stdin: stdin(), interrupt: createInterrupt(() => () => undefined) }
  expect(await textOf({ kind: "text", text: "" }, nothing)).toEqual({ ok: true, value: "" })
  expect(await read(whole.subarray(0, 2), whole.subarray(2))).toEqual({ ok: true, value: "häuser" })
  expect(await read(new Uint8Array(apiBodyMaxBytes), Buffer.from("x"))).toMatchObject({
    ok: false,
    error: { code: "request_too_large" },
  })
})

test("an interrupt ends the reading of standard input, whoever holds it open", async () => {
  const signals = new Map<string, () => void>()
  const interrupt = createInterrupt((signal, listener) => {
    signals.set(signal, listener)
    return () => undefined
  })
  const silent = { [Symbol.asyncIterator]: () => ({ next: () => new Promise<never>(() => undefined) }) }
  const reading = textOf({ kind: "stdin" }, { stdin: silent, interrupt })
  signals.get("SIGINT")!()
  expect(await reading.catch((error: unknown) => error)).toBe(interrupt.stop.reason)
  const late = textOf({ kind: "stdin" }, { stdin: silent, interrupt })
  expect(await late.catch((error: unknown) => error)).toBe(interrupt.stop.reason)
})

test("an outcome prints its response, else its result, and its exit code says how it ended", () => {
  const names = { turnId: "t" }
  const people = { json: false, names }
  const response = [{ type: "text", text: "done" }] as const
  expect(printedOutcome({ status: "completed", result: 1, response }, people)).toEqual({
    out: "done\n",
    err: "",
    exitCode: 0,
  })
  expect(printedOutcome({ status: "completed", result: { a: 1 } }, people).out).toBe('{\n  "a": 1\n}\n')
  expect(
    printedOutcome({ status: "failed", error: { code: "handler_failed", message: "no\nway" } }, people),
  ).toEqual({ out: "", err: "computerd: the Turn ended failed: handler_failed: no way\n", exitCode: 1 })
  const payloadExpiredAt = "2026-01-01T00:00:00.000Z"
  expect(printedOutcome({ status: "completed", payloadExpiredAt }, people)).toMatchObject({
    out: "",
    err: expect.stringContaining(payloadExpiredAt),
    exitCode: 0,
  })
  const json = printedOutcome({ status: "cancelled", error: { code: "cancelled" } }, { json: true, names })
  expect(JSON.parse(json.out)).toEqual({ turnId: "t", status: "cancelled", error: { code: "cancelled" } })
  expect(json.exitCode).toBe(1)
})

test("a failure names its code and field, tells a wrong argument from a refusal, and says how to repeat", () => {
  const refused = new HelmrApiError(
    { code: "invalid_program", message: "is wrong", field: "agents[0].id" },
    { status: 422 },
  )
  expect(failedOf(refused)).toEqual({
    line: "computerd: invalid_program: is wrong (at agents[0].id)\n",
    exitCode: 1,
  })
  const own = new HelmrError({ code: "invalid_arguments", message: "sessionId is none", field: "sessionId" })
  expect(failedOf(own)).toEqual({ line: "computerd: invalid_arguments: sessionId is none\n", exitCode: 2 })
  const lost = new HelmrConnectionError("timeout", "no answer", "key-1")
  expect(failedOf(lost)?.line).toContain("--idempotency-key key-1 repeats it")
  expect(failedOf(new Error("a fault"))).toBeUndefined()
})
