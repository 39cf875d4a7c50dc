/** The single list of tools, in the order in which clients see them. Whatever is said about a tool is derived from it. */
import { ToolName } from "@computerd/protocol/tools"
import { cancelSession } from "./cancel_session.ts"
import { closeSession } from "./close_session.ts"
import { enqueue } from "./enqueue.ts"
import { inspectSession } from "./inspect_session.ts"
import { inspectTurn } from "./inspect_turn.ts"
import { interruptSession } from "./interrupt_session.ts"
import { interruptTurn } from "./interrupt_turn.ts"
import { listAgents } from "./list_agents.ts"
import { listComputers } from "./list_computers.ts"
import { listSessions } from "./list_sessions.ts"
import { resumeSession } from "./resume_session.ts"
import { sendTurn } from "./send_turn.ts"
import { skills } from "./skills.ts"
import { spawn } from "./spawn.ts"
import { start } from "./start.ts"
import type { Tool } from "./tool.ts"
import { waitTurn } from "./wait_turn.ts"

/** Each entry by its exact type, for code that is written for one tool. */
export const tools = {
  skills,
  list_agents: listAgents,
  list_computers: listComputers,
  spawn,
  start,
  enqueue,
  send_turn: sendTurn,
  interrupt_turn: interruptTurn,
  interrupt_session: interruptSession,
  resume_session: resumeSession,
  close_session: closeSession,
  cancel_session: cancelSession,
  inspect_session: inspectSession,
  list_sessions: listSessions,
  inspect_turn: inspectTurn,
  wait_turn: waitTurn,
} as const satisfies { readonly [Name in ToolName]: Tool<Name> }

export const catalogue: readonly Tool[] = ToolName.options.map((name) => tools[name])

/** What the receiver answers. A tool that is not here is shown to nobody and is unknown when it is called. */
export const servedTools: readonly ToolName[] = ToolName.options

const served = new Map<string, Tool>(
  catalogue.filter((entry) => servedTools.includes(entry.name)).map((entry) => [entry.name, entry]),
)

/** A served tool by its exact name. */
export const findTool = (name: string): Tool | undefined => served.get(name)
