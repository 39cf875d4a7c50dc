/** Each served tool bound to its schema and its rule. `skills` never comes here: the endpoint answers it. */
import { fail, type Result } from "@computerd/protocol/errors"
import type { ToolName } from "@computerd/protocol/tools"
import { checkArguments } from "@computerd/runtime-mcp/tools/arguments"
import { findTool, tools } from "@computerd/runtime-mcp/tools/catalogue"
import type { Tool } from "@computerd/runtime-mcp/tools/tool"
import type { Admitted, Decide } from "../rules/admission.ts"
import { type Call, identify } from "../rules/caller.ts"
import {
  cancelSession,
  closeSession,
  interruptSession,
  interruptTurn,
  resumeSession,
} from "../rules/controls.ts"
import { creation } from "../rules/creation.ts"
import type { Draft } from "../rules/draft.ts"
import { enqueue } from "../rules/enqueue.ts"
import type { Given } from "../rules/given.ts"
import { inspectSession, inspectTurn, lookAtTurn } from "../rules/inspection.ts"
import { listAgents, listComputers, listSessions } from "../rules/listing.ts"
import { sendTurn } from "../rules/message.ts"

export interface BoundTool {
  readonly mutating: boolean
  readonly decide: (draft: Draft, call: Call, given: Given) => Result<Admitted>
}

const bind = <Arguments>(tool: Tool<ToolName, Arguments>, decide: Decide<Arguments>): BoundTool => ({
  mutating: tool.mutating,
  decide: (draft, call, given) => {
    const caller = identify(draft, call, given.now)
    if (!caller.ok) return caller
    const checked = checkArguments(tool, call.request.arguments)
    if (!checked.ok) return checked
    return decide({ draft, caller: caller.value, arguments: checked.value, given })
  },
})

const bound: Readonly<Record<Exclude<ToolName, "skills">, BoundTool>> = {
  list_agents: bind(tools.list_agents, listAgents),
  list_computers: bind(tools.list_computers, listComputers),
  spawn: bind(tools.spawn, creation("spawn")),
  start: bind(tools.start, creation("start")),
  enqueue: bind(tools.enqueue, enqueue),
  send_turn: bind(tools.send_turn, sendTurn),
  interrupt_turn: bind(tools.interrupt_turn, interruptTurn),
  interrupt_session: bind(tools.interrupt_session, interruptSession),
  resume_session: bind(tools.resume_session, resumeSession),
  close_session: bind(tools.close_session, closeSession),
  cancel_session: bind(tools.cancel_session, cancelSession),
  inspect_session: bind(tools.inspect_session, inspectSession),
  list_sessions: bind(tools.list_sessions, listSessions),
  inspect_turn: bind(tools.inspect_turn, inspectTurn),
  wait_turn: bind(tools.wait_turn, lookAtTurn),
}

export const boundTool = (name: string): Result<BoundTool> => {
  const tool = findTool(name)
  if (tool === undefined || tool.name === "skills")
    return fail("invalid_arguments", "this tool is not answered by the control plane")
  return { ok: true, value: bound[tool.name] }
}
