/** The surroundings that `init` and `turn` are given. */
import type { McpConnection, SessionContextData } from "@computerd/protocol/channel"
import type { Json } from "@computerd/protocol/content"
import { policyMaxBytes } from "@computerd/protocol/limits"
import type { InitContext, RuntimeMcp, RuntimeMcpConnectionOptions } from "@helmr/sdk"
import { HelmrError } from "@helmr/sdk/error"
import { failure } from "../turn/failure.ts"
import { notJsonText, strictJson } from "../turn/json.ts"

/** What the program passed to the getter. Whether it is a policy, and one that may be had, is judged by the supervisor. */
export type AskedPolicy = { readonly given: false } | { readonly given: true; readonly value: Json }

export type Connect = (policy: AskedPolicy) => Promise<McpConnection>

const policyError = (message: string, path = ""): HelmrError =>
  new HelmrError({
    ...failure("invalid_runtime_mcp_policy", message),
    // The supervisor calls the policy as a whole by this name.
    field: path === "" ? "policy" : path,
  })

const askedPolicy = (policy: unknown): AskedPolicy => {
  if (policy === undefined) return { given: false }
  const strict = strictJson(policy, policyMaxBytes)
  switch (strict.kind) {
    case "ok":
      return { given: true, value: strict.value }
    case "not_json":
      throw policyError(`A policy is plain data; this one holds ${notJsonText(strict)}.`, strict.path)
    case "too_large":
      throw policyError(`A policy takes at most ${strict.maxBytes} bytes of JSON.`)
    default:
      return strict satisfies never
  }
}

const frozenOptions = ({ url, headers }: McpConnection): RuntimeMcpConnectionOptions =>
  Object.freeze({ url, headers: Object.freeze({ Authorization: headers.Authorization }) })

const runtimeMcp = (connect: Connect): RuntimeMcp =>
  Object.freeze<RuntimeMcp>({
    getConnectionOptions: async (policy) => frozenOptions(await connect(askedPolicy(policy))),
  })

export const initContext = (data: SessionContextData, signal: AbortSignal, connect: Connect): InitContext =>
  Object.freeze<InitContext>({
    session: Object.freeze({ ...data.session }),
    computer: Object.freeze({ ...data.computer }),
    deployment: Object.freeze({ ...data.deployment }),
    recovery: Object.freeze({ ...data.recovery }),
    signal,
    mcp: runtimeMcp(connect),
  })
