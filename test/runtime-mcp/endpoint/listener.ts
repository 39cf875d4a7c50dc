/** A real endpoint on a free port whose receiver is a function of the test. */
import type { AdmissionAnswer } from "@computerd/protocol/link"
import type { Scope } from "@computerd/protocol/scope"
import type { ToolCall } from "@computerd/runtime-mcp/endpoint/calls"
import { createEndpoint, type Endpoint, type EndpointDeps } from "@computerd/runtime-mcp/endpoint/endpoint"
import { defaultMaximum } from "@computerd/runtime-mcp/policy/scope"

const agents = ["auditor", "reviewer"] as const
export const maximum: Scope = defaultMaximum(agents)
export const token = "Bearer test-token-maximum"

export interface Listener {
  readonly endpoint: Endpoint
  readonly calls: readonly ToolCall[]
  readonly faults: readonly unknown[]
  readonly headers: { readonly Authorization: string }
}

export type Answer = (call: ToolCall) => Promise<AdmissionAnswer> | AdmissionAnswer

const systemTime: Pick<EndpointDeps, "clock" | "timers"> = {
  clock: { monotonicMs: () => performance.now() },
  timers: {
    after: (delayMs, fire) => {
      const timer = setTimeout(fire, delayMs)
      return () => clearTimeout(timer)
    },
  },
}

/** A receiver that does nothing: every call is admitted with an empty object. */
const admitted: Answer = () => ({ ok: true, value: {} })

export const openListener = (
  answer: Answer = admitted,
  overrides: Partial<EndpointDeps> & { readonly scopes?: Readonly<Record<string, Scope>> } = {},
): Listener => {
  const calls: ToolCall[] = []
  const faults: unknown[] = []
  const { scopes = { [token]: maximum }, ...deps } = overrides
  const created = createEndpoint({
    ...systemTime,
    port: 0,
    role: "root",
    descriptor: (authorization) => {
      const scope = scopes[authorization]
      return scope === undefined ? undefined : { scope, id: authorization }
    },
    admission: () => "open",
    invoke: async (call) => {
      calls.push(call)
      return answer(call)
    },
    fault: (error) => faults.push(error),
    ...deps,
  })
  if (!created.ok) throw new Error(created.error.message)
  return { endpoint: created.value, calls, faults, headers: { Authorization: token } }
}
