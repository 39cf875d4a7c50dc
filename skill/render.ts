/**
 * The `helmr-runtime` skill as one connection reads it.
 *
 * K1 it names no tool that the connection cannot call, and no Agent that it cannot target
 * K2 it grants nothing and replaces no instruction of the user, and says so
 */
import type { CreationOperation, Placement } from "@computerd/protocol/scope"
import { runtimeSkillName, type ToolName } from "@computerd/protocol/tools"
import { control } from "./control.ts"
import { addTo, delegate, placementText } from "./delegate.ts"
import { renderErrors, retries } from "./errors.ts"
import { computers, outcomes, sessions } from "./observe.ts"
import { renderSection, type Section } from "./section.ts"

/** Agents that one operation may create work for in one place. */
export interface CreationGrant {
  readonly operation: CreationOperation
  readonly computer: Placement
  readonly agents: readonly string[]
}

export interface SkillView {
  readonly role: "root" | "child"
  /** What the connection can call. */
  readonly tools: readonly ToolName[]
  /** The Agents that each of them may target; empty for tools without a target. */
  readonly targets: ReadonlyMap<ToolName, readonly string[] | "all">
  /** What may be created where; `"any"` beside an unrestricted scope. */
  readonly creations: readonly CreationGrant[] | "any"
}

export const skillDescription =
  "How to work with other Agents through this server: hand work to them, follow it to its outcome, steer it and end it, and what to do when a call fails. Read it before the first call."

export const serverInstructions = `This server lets the Session you run in work with other Agents. Before you use it, read its guide: call skills({ "name": "${runtimeSkillName}" }). The guide covers what this connection can do, how to retry safely and what each error asks of you.`

const sections: readonly Section[] = [addTo, outcomes, sessions, computers, control, retries]

const opening = [
  "# Working with other Agents",
  "You run inside a Session: a conversation with one Agent, in which Turns are processed one at a time. Each Turn is one input with one outcome. Sessions run on Computers. Through this server the Session can ask for work by others and follow it, with its own authority and no more.",
  "This guide grants nothing. It describes what this connection can do, and it does not replace the instructions of the user: where the two differ, the user's stand. Do with these tools only what the task asks for.",
]

/** Longer lists are looked up, not read. */
const namedAgentsMax = 20

const agentList = (agents: readonly string[] | "all"): string => {
  if (agents === "all") return ": every Agent"
  if (agents.length === 0) return ""
  const more = agents.length - namedAgentsMax
  const named = agents.slice(0, namedAgentsMax).join(", ")
  return more > 0 ? `: ${named} and ${more} more` : `: ${named}`
}

const places: Readonly<Record<Placement, string>> = {
  new: "on a fresh Computer",
  caller: "on this Session's Computer",
}

const placementsOf = ({ creations }: SkillView): readonly Placement[] | "any" =>
  creations === "any" ? "any" : [...new Set(creations.map(({ computer }) => computer))]

/** One line for a tool; where the place depends on what is created, one for each place. */
const grantLines = (view: SkillView, name: ToolName): readonly string[] => {
  const placed = view.creations === "any" ? [] : view.creations.filter(({ operation }) => operation === name)
  if (placed.length === 0 || placementsOf(view).length < 2)
    return [`- \`${name}\`${agentList(view.targets.get(name) ?? [])}`]
  return placed.map(({ computer, agents }) => `- \`${name}\` ${places[computer]}${agentList(agents)}`)
}

const grants = (view: SkillView): readonly string[] => {
  const remote = view.tools.filter((name) => name !== "skills")
  if (remote.length === 0)
    return [
      "## What this connection grants",
      "Nothing beyond reading this guide. Do the work in this Session.",
    ]
  return [
    "## What this connection grants",
    "Each operation, with the Agents whose Sessions it may concern:",
    remote.flatMap((name) => grantLines(view, name)).join("\n"),
  ]
}

const where = (view: SkillView): readonly string[] => {
  if (!view.tools.includes("spawn") && !view.tools.includes("start")) return []
  return ["## Where work runs", ...placementText(placementsOf(view))]
}

const role = (view: SkillView): readonly string[] =>
  view.role === "root"
    ? []
    : [
        "## Your place",
        "This Session is a child: another Session asked for its work and owns it. It creates no work and asks no people. Put what you need, what you found and what is left into your answer; the owner reads it there.",
      ]

export const renderSkill = (view: SkillView): string => {
  const tools = new Set(view.tools)
  const blocks = [
    ...opening,
    ...role(view),
    ...grants(view),
    ...renderSection(delegate, tools),
    ...where(view),
    ...sections.flatMap((section) => renderSection(section, tools)),
    ...renderErrors(tools),
  ]
  return `---\nname: ${runtimeSkillName}\ndescription: ${JSON.stringify(skillDescription)}\n---\n\n${blocks.join("\n\n")}\n`
}
