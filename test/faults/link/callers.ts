/**
 * MCP clients of the Session processes. Each call has a key of its own and is repeated with it for as long as its
 * outcome is unknown, as the answers ask for.
 */
import { Generation, type SessionId } from "@computerd/protocol/ids"
import type { AdmissionAnswer, AdmissionRequest } from "@computerd/protocol/link"
import type { Scope } from "@computerd/protocol/scope"
import { findTool } from "@computerd/runtime-mcp/tools/catalogue"
import type { SimSupervisor } from "./supervisor.ts"
import type { World } from "./world.ts"

export interface CallersDeps {
  readonly world: World
  readonly maximum: Scope
  /** The supervisor on whose Computer the Session's process lives now. */
  readonly supervisor: () => SimSupervisor | undefined
}

interface Call {
  readonly caller: SessionId
  readonly tool: string
  readonly arguments: AdmissionRequest["arguments"]
  /** Goes away after so long, without an answer. */
  readonly leavesAfterMs?: number
}

export interface Callers {
  readonly call: (call: Call) => void
  /** Calls that nobody has answered yet. */
  readonly pending: () => readonly string[]
}

const retryMs = [200, 4_000] as const

export const createCallers = ({ world, maximum, supervisor }: CallersDeps): Callers => {
  const { truth, time, random } = world
  const pending = new Map<number, string>()
  let calls = 0

  const requestOf = ({ caller, tool, arguments: args }: Call): AdmissionRequest | undefined => {
    const row = supervisor()
      ?.life?.sessions.all()
      .find(({ session_id }) => session_id === caller)
    if (row === undefined || row.generation === 0) return undefined
    const generation = Generation.parse(row.generation)
    return { sessionId: caller, generation, scope: maximum, tool, arguments: args }
  }

  const attempt = async (call: Call): Promise<AdmissionAnswer | undefined> => {
    const one = supervisor()
    const request = requestOf(call)
    if (one === undefined || request === undefined) return undefined
    const leaving = new AbortController()
    if (call.leavesAfterMs !== undefined) time.after(call.leavesAfterMs, () => leaving.abort())
    const { idempotencyKey: key } = call.arguments
    if (typeof key === "string") truth.called(key)
    const answer = await one.invoke(request, leaving.signal)
    if (typeof key === "string") truth.answered(key, answer)
    return answer
  }

  const isFinal = (call: Call, answer: AdmissionAnswer | undefined): boolean => {
    if (findTool(call.tool)?.mutating !== true) return true
    return answer !== undefined && (answer.ok || answer.error.code !== "admission_unavailable")
  }

  const begin = (call: Call, number: number): void => {
    attempt(call)
      .then((answer) => {
        if (isFinal(call, answer)) pending.delete(number)
        else time.after(random.int(...retryMs), () => begin({ ...call, leavesAfterMs: 120_000 }, number))
      })
      .catch((error: unknown) => truth.check("T5", false, () => `a call failed: ${String(error)}`))
  }

  return {
    call: (call) => {
      calls += 1
      pending.set(calls, `${call.tool} ${JSON.stringify(call.arguments)}`)
      begin(call, calls)
    },
    pending: () => [...pending.values()],
  }
}
