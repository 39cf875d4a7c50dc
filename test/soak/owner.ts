/**
 * A root Session in whose name the soak makes calls, with a stock client. A call goes on under its one key until there
 * is an answer: supervisors are killed and links are cut meanwhile.
 */
import { type ErrorCode, errorTraits } from "@computerd/protocol/errors"
import type { ComputerId, SessionId, TurnId } from "@computerd/protocol/ids"
import { until } from "../control-plane/drivers/rig.ts"
import { freshKey, text } from "../control-plane/rig.ts"
import { clientOf, initsIn, type StockClient } from "../e2e/plane.ts"
import { type Stage, sessionIn, unwrap } from "./stage.ts"

type Answer = Readonly<Record<string, unknown>>
export interface Admitted {
  readonly sessionId: SessionId
  readonly turnId: TurnId
}

export interface Owner {
  readonly sessionId: SessionId
  readonly computerId: ComputerId
  readonly ask: (tool: string, args: Answer) => Promise<Answer>
  /** `ask` for tools that give work to a Session. */
  readonly give: (tool: string, args: Answer) => Promise<Admitted>
  /** How the Turn ended. */
  readonly settled: (turn: Admitted) => Promise<string>
  readonly close: () => Promise<void>
}

const reads = /^(inspect|wait|list)_/

const isFinal = (refusal: string): boolean => {
  const code = refusal.split(":")[0] ?? ""
  return Object.hasOwn(errorTraits, code) && !errorTraits[code as ErrorCode].retryable
}

const callsOf = (client: StockClient) => {
  const ask = async (tool: string, args: Answer): Promise<Answer> => {
    const keyed = reads.test(tool) ? args : { idempotencyKey: freshKey(), ...args }
    let last = "no answer"
    const answer = await until(`${tool} ${JSON.stringify(args)}`, async () => {
      try {
        const given = await client.call(tool, keyed)
        if (!given.isError || isFinal(given.text)) return given
        last = given.text
      } catch (error) {
        last = String(error)
      }
      await Bun.sleep(100)
      return undefined
    }).catch((error: Error) => {
      throw new Error(`${error.message}; last: ${last}`)
    })
    if (answer.isError) throw new Error(`${tool} ${JSON.stringify(args)}: ${answer.text}`)
    return JSON.parse(answer.text)
  }
  const settled = async ({ sessionId, turnId }: Admitted): Promise<string> => {
    const { outcome } = (await until(`the end of ${turnId}`, async () => {
      const answer = await ask("wait_turn", { sessionId, turnId, timeoutMs: 20_000 })
      return answer["status"] === "settled" ? answer : undefined
    })) as never as { readonly outcome: { readonly status: string } }
    return outcome.status
  }
  return {
    ask,
    give: async (tool: string, args: Answer) => (await ask(tool, args)) as never as Admitted,
    settled,
  }
}

export const startOwner = async (stage: Stage): Promise<Owner> => {
  const idempotencyKey = freshKey()
  const started = await stage.client.startSession({ agent: "owner", input: text("{}"), idempotencyKey })
  const { sessionId } = unwrap(started)
  const { computerId } = await sessionIn(stage, sessionId)
  const init = await until("init of the owner", () => initsIn(stage.rig, computerId, "owner").at(-1))
  const client = await clientOf(init)
  return { sessionId, computerId, ...callsOf(client), close: client.close }
}
