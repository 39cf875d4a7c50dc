/** The verbs of `computerd fleet`, each with its words and flags. Pure. */
import { resolve } from "node:path"
import { fail, ok, type Result } from "@computerd/protocol/errors"
import type { FlagSpec, Options } from "../options.ts"
import { readLimit, readPeriod } from "../values.ts"
import type { Afterwards, FleetWork, GivenText } from "./command.ts"

export interface Words {
  /** The positional arguments, as many as the verb names. */
  readonly word: (name: string) => string
  readonly options: Options
  readonly cwd: string
}

export interface Verb {
  /** Names of its positional arguments; all of them are needed. */
  readonly words: readonly string[]
  readonly flags: Readonly<Record<string, FlagSpec>>
  readonly read: (words: Words) => Result<FleetWork>
}

const text = { type: "string" } as const satisfies FlagSpec
const mayBeEmpty = { type: "string", mayBeEmpty: true } as const satisfies FlagSpec
const toggle = { type: "boolean" } as const satisfies FlagSpec
const keyed = { "idempotency-key": text } as const
const listed = { limit: text } as const

const keyOf = ({ options }: Words): { readonly idempotencyKey: string | undefined } => ({
  idempotencyKey: options.text("idempotency-key"),
})

/** `-` stands for standard input. */
const givenText = ({ options }: Words, flag: string): Result<GivenText> => {
  const given = options.text(flag)
  if (given === undefined)
    return fail("invalid_arguments", `--${flag} is needed: a text, or - for standard input`)
  return ok(given === "-" ? { kind: "stdin" } : { kind: "text", text: given })
}

const limited = <Work extends FleetWork>(
  { options }: Words,
  work: (limit: number) => Work,
): Result<FleetWork> => {
  const limit = readLimit(options.text("limit"))
  return limit.ok ? ok(work(limit.value)) : limit
}

/** Of a flag that takes one of a few words. */
const oneOf = <Choice extends string>(
  { options }: Words,
  flag: string,
  choices: readonly Choice[],
): Result<Choice | undefined> => {
  const given = options.text(flag)
  const found = choices.find((choice) => choice === given)
  if (given !== undefined && found === undefined)
    return fail("invalid_arguments", `--${flag} must be ${choices.join(", ")}; it is "${given}"`)
  return ok(found)
}

const attending = { wait: toggle, follow: toggle } as const

const afterwardsOf = ({ options }: Words): Result<Afterwards> => {
  const [wait, follow] = [options.on("wait"), options.on("follow")]
  if (wait && follow) return fail("invalid_arguments", "give --wait or --follow, not both")
  if (follow) return ok("follow")
  return ok(wait ? "wait" : "leave")
}

/** A verb that names a Session and nothing that has to be read. */
const ofSession = (
  words: readonly string[],
  work: (words: Words, sessionId: string) => FleetWork,
  flags: Verb["flags"] = keyed,
): Verb => ({ words: ["SESSION", ...words], flags, read: (given) => ok(work(given, given.word("SESSION"))) })

const definitions = (verb: "agents" | "templates"): Verb => ({
  words: [],
  flags: { ...listed, deployment: text },
  read: (words) =>
    limited(words, (limit) => ({ verb, limit, deploymentId: words.options.text("deployment") })),
})

export const fleetVerbs: Readonly<Record<string, Verb>> = {
  deploy: {
    words: ["DIR"],
    flags: { ...keyed, "no-gitignore": toggle },
    read: (words) =>
      ok({
        verb: "deploy",
        directory: resolve(words.cwd, words.word("DIR")),
        gitignore: !words.options.on("no-gitignore"),
        ...keyOf(words),
      }),
  },
  deployments: {
    words: [],
    flags: listed,
    read: (words) => limited(words, (limit) => ({ verb: "deployments", limit })),
  },
  agents: definitions("agents"),
  templates: definitions("templates"),
  start: {
    words: ["AGENT"],
    flags: { ...keyed, input: mayBeEmpty, "session-key": text, computer: text, ...attending },
    read: (words) => {
      const input = givenText(words, "input")
      if (!input.ok) return input
      const afterwards = afterwardsOf(words)
      if (!afterwards.ok) return afterwards
      const { options } = words
      return ok({
        verb: "start",
        agent: words.word("AGENT"),
        input: input.value,
        sessionKey: options.text("session-key"),
        computerId: options.text("computer"),
        afterwards: afterwards.value,
        ...keyOf(words),
      })
    },
  },
  sessions: {
    words: [],
    flags: { ...listed, status: text, agent: text, "session-key": text, computer: text, root: text },
    read: (words) => {
      const status = oneOf(words, "status", ["open", "closing", "closed"])
      if (!status.ok) return status
      const { options } = words
      return limited(words, (limit) => ({
        verb: "sessions",
        limit,
        status: status.value,
        agent: options.text("agent"),
        key: options.text("session-key"),
        computerId: options.text("computer"),
        rootSessionId: options.text("root"),
      }))
    },
  },
  session: ofSession([], (_, sessionId) => ({ verb: "session", sessionId }), {}),
  enqueue: {
    words: ["SESSION"],
    flags: { ...keyed, input: mayBeEmpty, ...attending },
    read: (words) => {
      const input = givenText(words, "input")
      if (!input.ok) return input
      const afterwards = afterwardsOf(words)
      if (!afterwards.ok) return afterwards
      const sessionId = words.word("SESSION")
      return ok({
        verb: "enqueue",
        sessionId,
        input: input.value,
        afterwards: afterwards.value,
        ...keyOf(words),
      })
    },
  },
  send: {
    words: ["SESSION", "TURN"],
    flags: { ...keyed, message: mayBeEmpty },
    read: (words) => {
      const message = givenText(words, "message")
      if (!message.ok) return message
      const [sessionId, turnId] = [words.word("SESSION"), words.word("TURN")]
      return ok({ verb: "send", sessionId, turnId, message: message.value, ...keyOf(words) })
    },
  },
  wait: {
    words: ["SESSION", "TURN"],
    flags: { timeout: text },
    read: (words) => {
      const timeoutMs = readPeriod("--timeout", words.options.text("timeout"))
      if (!timeoutMs.ok) return timeoutMs
      const [sessionId, turnId] = [words.word("SESSION"), words.word("TURN")]
      return ok({ verb: "wait", sessionId, turnId, timeoutMs: timeoutMs.value })
    },
  },
  follow: ofSession(
    [],
    ({ options }, sessionId) => ({ verb: "follow", sessionId, after: options.text("after") }),
    {
      after: text,
    },
  ),
  interrupt: ofSession(
    [],
    (words, sessionId) => ({
      verb: "interrupt",
      sessionId,
      turnId: words.options.text("turn"),
      ...keyOf(words),
    }),
    { ...keyed, turn: text },
  ),
  resume: ofSession(["HOLD"], (words, sessionId) => ({
    verb: "resume",
    sessionId,
    holdId: words.word("HOLD"),
    ...keyOf(words),
  })),
  close: ofSession([], (words, sessionId) => ({ verb: "close", sessionId, ...keyOf(words) })),
  cancel: ofSession([], (words, sessionId) => ({ verb: "cancel", sessionId, ...keyOf(words) })),
  questions: ofSession([], (_, sessionId) => ({ verb: "questions", sessionId }), {}),
  answer: {
    words: ["SESSION", "QUESTION"],
    flags: { ...keyed, text: mayBeEmpty },
    read: (words) => {
      const answer = givenText(words, "text")
      if (!answer.ok) return answer
      const [sessionId, questionId] = [words.word("SESSION"), words.word("QUESTION")]
      return ok({ verb: "answer", sessionId, questionId, text: answer.value, ...keyOf(words) })
    },
  },
  computers: {
    words: [],
    flags: { ...listed, status: text },
    read: (words) => {
      const status = oneOf(words, "status", ["available", "deleting", "deleted"])
      if (!status.ok) return status
      return limited(words, (limit) => ({ verb: "computers", limit, status: status.value }))
    },
  },
  "computers create": {
    words: ["TEMPLATE"],
    flags: { ...keyed, key: text },
    read: (words) =>
      ok({
        verb: "computers create",
        template: words.word("TEMPLATE"),
        key: words.options.text("key"),
        ...keyOf(words),
      }),
  },
  "computers delete": {
    words: ["COMPUTER"],
    flags: keyed,
    read: (words) => ok({ verb: "computers delete", computerId: words.word("COMPUTER"), ...keyOf(words) }),
  },
}
