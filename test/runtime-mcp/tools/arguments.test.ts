import { describe, expect, test } from "bun:test"
import { contentMaxBytes, idempotencyKeyMaxBytes, textPartsMax } from "@computerd/protocol/limits"
import { ToolName } from "@computerd/protocol/tools"
import { checkArguments } from "@computerd/runtime-mcp/tools/arguments"
import { catalogue, tools } from "@computerd/runtime-mcp/tools/catalogue"
import type { Tool } from "@computerd/runtime-mcp/tools/tool"
import fc from "fast-check"

const uuid = "01890a5d-ac96-774b-bcce-b302099a8057"
const ids = { session: `ses_${uuid}`, turn: `trn_${uuid}`, hold: `hld_${uuid}`, computer: `cmp_${uuid}` }
const input = [{ type: "text", text: "hello" }]
const idempotencyKey = "key-1"

type Values = Readonly<Record<string, unknown>>

/** Required and optional arguments of every tool, each valid. The reference's tables, written out. */
const valid: Readonly<Record<ToolName, { readonly required: Values; readonly optional: Values }>> = {
  skills: { required: {}, optional: { name: "helmr-runtime" } },
  list_agents: { required: { operation: "spawn" }, optional: { cursor: "c" } },
  list_computers: { required: {}, optional: { cursor: "c" } },
  spawn: { required: { agent: "a", input, idempotencyKey }, optional: { computerId: ids.computer } },
  start: { required: { agent: "a", input, idempotencyKey }, optional: { computerId: ids.computer } },
  enqueue: { required: { sessionId: ids.session, input, idempotencyKey }, optional: {} },
  send_turn: {
    required: { sessionId: ids.session, turnId: ids.turn, message: input, idempotencyKey },
    optional: {},
  },
  interrupt_turn: { required: { sessionId: ids.session, turnId: ids.turn, idempotencyKey }, optional: {} },
  interrupt_session: { required: { sessionId: ids.session, idempotencyKey }, optional: {} },
  resume_session: {
    required: { sessionId: ids.session, holdId: ids.hold, idempotencyKey },
    optional: {},
  },
  close_session: { required: { sessionId: ids.session, idempotencyKey }, optional: {} },
  cancel_session: { required: { sessionId: ids.session, idempotencyKey }, optional: {} },
  inspect_session: { required: { sessionId: ids.session }, optional: {} },
  list_sessions: {
    required: { relation: "owned" },
    optional: { status: ["open", "closed"], limit: 100, cursor: "c" },
  },
  inspect_turn: { required: { sessionId: ids.session, turnId: ids.turn }, optional: {} },
  wait_turn: { required: { sessionId: ids.session, turnId: ids.turn, timeoutMs: 1 }, optional: {} },
}

const refusal = (tool: Tool, args: unknown) => {
  const checked = checkArguments(tool, args)
  return checked.ok ? "accepted" : { code: checked.error.code, field: checked.error.field }
}
const invalid = (field: string) => ({ code: "invalid_arguments" as const, field })

for (const tool of catalogue) {
  const { required, optional } = valid[tool.name]
  describe(tool.name, () => {
    test("takes its required arguments alone and with every optional one, unchanged", () => {
      expect(checkArguments(tool, required)).toEqual({ ok: true, value: required })
      expect(checkArguments(tool, { ...required, ...optional })).toEqual({
        ok: true,
        value: { ...required, ...optional },
      })
    })

    test(`R167 ${tool.mutating ? "R85 " : ""}names each required argument that is left out or null`, () => {
      for (const name of Object.keys(required)) {
        const { [name]: _left, ...rest } = required
        expect(refusal(tool, rest)).toEqual(invalid(name))
        expect(refusal(tool, { ...required, [name]: null })).toEqual(invalid(name))
      }
    })

    test("R167 names an optional argument of a wrong type", () => {
      for (const name of Object.keys(optional)) {
        for (const wrong of [null, { x: 1 }, true])
          expect(refusal(tool, { ...required, [name]: wrong })).toEqual(invalid(name))
      }
    })

    test("R2 R112 R167 names a field that it does not know: no caller, no key, no prototype", () => {
      for (const stranger of [
        "callerSessionId",
        "parentSessionId",
        "key",
        "sessionKey",
        "__proto__",
        "constructor",
      ]) {
        const args = JSON.parse(JSON.stringify(required))
        Object.defineProperty(args, stranger, { value: 1, enumerable: true })
        expect(refusal(tool, args)).toEqual(invalid(stranger))
      }
    })

    test("R167 refuses ids of another kind, of another version and in capitals", () => {
      for (const name of Object.keys(required).filter((each) => each.endsWith("Id"))) {
        for (const wrong of [
          `dep_${uuid}`,
          uuid,
          `${required[name]}`.toUpperCase(),
          `${required[name]}\n`,
          "",
        ])
          expect(refusal(tool, { ...required, [name]: wrong })).toEqual(invalid(name))
      }
    })

    test("what is not an object is refused whole", () => {
      for (const wrong of [undefined, null, [], "x", 1])
        expect(refusal(tool, wrong)).toEqual(invalid("arguments"))
    })
  })
}

describe("content", () => {
  const withContent = catalogue.filter((tool) => tool.content !== undefined)
  const sent = (tool: Tool, content: unknown) => ({
    ...valid[tool.name].required,
    [tool.content ?? ""]: content,
  })

  test("is taken by the four tools that bring text", () => {
    expect(withContent.map(({ name }) => name)).toEqual(["spawn", "start", "enqueue", "send_turn"])
  })

  for (const tool of withContent) {
    const field = tool.content ?? ""
    test(`R82 ${tool.name} takes an array of text parts, an empty one too, and nothing else`, () => {
      expect(refusal(tool, sent(tool, []))).toBe("accepted")
      const wrong: readonly (readonly [unknown, string])[] = [
        ["text", field],
        [{ type: "text", text: "x" }, field],
        [["text"], `${field}[0]`],
        [[{ type: "text" }], `${field}[0].text`],
        [[{ type: "text", text: 1 }], `${field}[0].text`],
        [[{ type: "text", text: "x", extra: 1 }], `${field}[0].extra`],
        [[{ text: "x" }], `${field}[0].type`],
        [[input[0], null], `${field}[1]`],
      ]
      for (const [content, at] of wrong) expect(refusal(tool, sent(tool, content))).toEqual(invalid(at))
    })

    test(`R83 ${tool.name} takes 64 parts and not 65`, () => {
      const parts = (count: number) => Array.from({ length: count }, () => input[0])
      expect(refusal(tool, sent(tool, parts(textPartsMax)))).toBe("accepted")
      const refused = { code: "content_limit_exceeded", field } as const
      expect(refusal(tool, sent(tool, parts(textPartsMax + 1)))).toEqual(refused)
    })

    test(`R83 ${tool.name} takes 256 KiB of encoded content and not a byte more`, () => {
      const content = (bytes: number) => {
        const frame = JSON.stringify([{ type: "text", text: "" }]).length
        return [{ type: "text", text: "x".repeat(bytes - frame) }]
      }
      expect(refusal(tool, sent(tool, content(contentMaxBytes)))).toBe("accepted")
      const refused = { code: "content_limit_exceeded", field } as const
      expect(refusal(tool, sent(tool, content(contentMaxBytes + 1)))).toEqual(refused)
      const wide = [{ type: "text", text: "\u2603".repeat(contentMaxBytes / 3) }]
      expect(refusal(tool, sent(tool, wide))).toEqual(refused)
    })

    test(`R84 ${tool.name} refuses parts of another kind by a code of their own`, () => {
      for (const part of [
        { type: "image" },
        { type: "json" },
        { type: "Text", text: "x" },
        { type: "image", data: "x" },
      ])
        expect(refusal(tool, sent(tool, [input[0], part]))).toEqual({
          code: "content_kind_unsupported",
          field: `${field}[1].type`,
        })
    })
  }

  test("R108 any Unicode text passes unchanged", () => {
    fc.assert(
      fc.property(fc.array(fc.string({ unit: "binary" }), { maxLength: textPartsMax }), (texts) => {
        const parts = texts.map((text) => ({ type: "text", text }))
        expect(checkArguments(tools.spawn, { agent: "a", input: parts, idempotencyKey })).toEqual({
          ok: true,
          value: { agent: "a", input: parts, idempotencyKey } as never,
        })
      }),
    )
  })
})

describe("keys, numbers and lists", () => {
  const keyed = (key: unknown) =>
    refusal(tools.close_session, { sessionId: ids.session, idempotencyKey: key })

  test("R85 a key is 1 to 512 bytes of well-formed text without NUL", () => {
    for (const key of ["a", "x".repeat(idempotencyKeyMaxBytes), "\u2603".repeat(170), "line\nbreak"])
      expect(keyed(key)).toBe("accepted")
    for (const key of ["", "x".repeat(idempotencyKeyMaxBytes + 1), "\u2603".repeat(171), "a\0b", "\ud800", 1])
      expect(keyed(key)).toEqual(invalid("idempotencyKey"))
  })

  test("R164 timeoutMs is an integer from 1 to 30000", () => {
    const { required } = valid.wait_turn
    for (const timeoutMs of [1, 30_000])
      expect(refusal(tools.wait_turn, { ...required, timeoutMs })).toBe("accepted")
    for (const timeoutMs of [0, -1, 30_001, 1.5, "5", Number.MAX_VALUE, null])
      expect(refusal(tools.wait_turn, { ...required, timeoutMs })).toEqual(invalid("timeoutMs"))
  })

  test("R94 operation is required and is spawn or start", () => {
    for (const operation of ["enqueue", "", "SPAWN", undefined])
      expect(refusal(tools.list_agents, { operation })).toEqual(invalid("operation"))
  })

  test("R151 R153 R154 relation, status and limit of list_sessions are bounded", () => {
    const listed = (rest: Values) => refusal(tools.list_sessions, { relation: "owned", ...rest })
    expect(refusal(tools.list_sessions, { relation: "all" })).toEqual(invalid("relation"))
    for (const limit of [0, 101, 1.5, "5"]) expect(listed({ limit })).toEqual(invalid("limit"))
    for (const limit of [1, 100]) expect(listed({ limit })).toBe("accepted")
    expect(listed({ status: ["open", "running"] })).toEqual(invalid("status[1]"))
    expect(listed({ status: "open" })).toEqual(invalid("status"))
    expect(listed({ status: [] })).toEqual(invalid("status"))
    expect(listed({ status: ["open", "closing", "closed"] })).toBe("accepted")
  })

  test("R93 no skill name reaches a file: any string is only a name", () => {
    expect(refusal(tools.skills, { name: "../helmr-runtime" })).toBe("accepted")
    expect(refusal(tools.skills, { name: 1 })).toEqual(invalid("name"))
  })
})

test("no refusal repeats a value, and whatever comes is judged without an exception", () => {
  fc.assert(
    fc.property(fc.constantFrom(...ToolName.options), fc.json({ maxDepth: 4 }), (name, text) => {
      const checked = checkArguments<unknown>(tools[name], JSON.parse(text))
      if (!checked.ok) expect(checked.error.message.length).toBeLessThan(400)
    }),
  )
  const secret = checkArguments(tools.close_session, { sessionId: "s3cret", idempotencyKey })
  expect(secret.ok ? "" : secret.error.message).not.toContain("s3cret")
})
