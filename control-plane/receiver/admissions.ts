/** Tool calls as they come from supervisors: decided, made durable, answered; a wait is looked at again when it ends. */
import { type Failure, fail, type Result } from "@computerd/protocol/errors"
import { type ComputerId, type SessionId, TurnId } from "@computerd/protocol/ids"
import type { AdmissionAnswer } from "@computerd/protocol/link"
import type { Ports } from "../ports.ts"
import type { Admitted } from "../rules/admission.ts"
import { checkEpoch } from "../rules/attachment.ts"
import type { Call } from "../rules/caller.ts"
import type { Store } from "../store/open.ts"
import type { Commits } from "./commits.ts"
import { type BoundTool, boundTool } from "./tools.ts"
import type { Waits } from "./waits.ts"

export interface Admissions {
  readonly admit: (call: Call, signal: AbortSignal) => Promise<AdmissionAnswer>
  readonly receipt: (
    owner: { readonly computerId: ComputerId; readonly epoch: number },
    asked: { readonly sessionId: SessionId; readonly key: string },
  ) => AdmissionAnswer | undefined
}

export interface AdmissionsDeps {
  readonly store: Store
  readonly ports: Ports
  readonly commits: Commits
  readonly waits: Waits
}

const refusal = (error: Failure): AdmissionAnswer => ({ ok: false, error })

const answered = (admitted: Admitted): AdmissionAnswer => ({ ok: true, value: { ...admitted.answer } })

const later = (why: string): AdmissionAnswer => refusal(fail("admission_unavailable", why).error)

/** Only `wait_turn` has both, and its arguments were checked before they are read here. */
const waitOf = (call: Call): { readonly turnId: TurnId; readonly timeoutMs: number } | undefined => {
  const { turnId, timeoutMs } = call.request.arguments
  const parsed = TurnId.safeParse(turnId)
  return parsed.success && typeof timeoutMs === "number" ? { turnId: parsed.data, timeoutMs } : undefined
}

export const createAdmissions = (deps: AdmissionsDeps): Admissions => {
  const { store, ports, commits, waits } = deps

  const note = (call: Call, result: Result<Admitted>): void => {
    const admitted = result.ok ? (result.value.repeated ? "repeated" : "admitted") : result.error.code
    const { tool, sessionId } = call.request
    ports.journal.record({ type: "admission", tool, sessionId, outcome: admitted })
  }

  const observe = (tool: BoundTool, call: Call): AdmissionAnswer => {
    const result = commits.look((draft, given) => tool.decide(draft, call, given))
    note(call, result)
    return result.ok ? answered(result.value) : refusal(result.error)
  }

  const mutate = async (tool: BoundTool, call: Call): Promise<AdmissionAnswer> => {
    const result = await commits.grouped("admission", (draft, given) => tool.decide(draft, call, given))
    note(call, result)
    return result.ok ? answered(result.value) : refusal(result.error)
  }

  const isTimeout = (answer: AdmissionAnswer): boolean => {
    if (!answer.ok) return false
    const { status } = answer.value
    return status === "timeout"
  }

  /** Authority is checked again when the wait has ended: what is disclosed then is judged then. */
  const wait = async (tool: BoundTool, call: Call, signal: AbortSignal): Promise<AdmissionAnswer> => {
    const asked = waitOf(call)
    const deadline = ports.runningMs() + (asked?.timeoutMs ?? 0)
    for (;;) {
      const answer = observe(tool, call)
      const remaining = deadline - ports.runningMs()
      if (asked === undefined || !isTimeout(answer) || remaining <= 0) return answer
      const how = await waits.wait(asked.turnId, remaining, signal)
      if (how === "closed") return later("the control plane is stopping; wait again")
      if (how === "aborted") return later("the wait was given up; wait again")
      if (how === "timeout") return answer
    }
  }

  return {
    admit: async (call, signal) => {
      const tool = boundTool(call.request.tool)
      if (!tool.ok) return refusal(tool.error)
      if (call.request.tool === "wait_turn") return wait(tool.value, call, signal)
      return tool.value.mutating ? mutate(tool.value, call) : observe(tool.value, call)
    },
    receipt: ({ computerId, epoch }, { sessionId, key }) => {
      commits.flush()
      const owner = checkEpoch(store.state.computer(computerId), epoch)
      if (!owner.ok) return refusal(owner.error)
      if (store.state.session(sessionId)?.computerId !== computerId) return undefined
      const receipt = store.state.receipt(sessionId, key)
      return receipt === undefined ? undefined : { ok: true, value: { ...receipt.answer } }
    },
  }
}
