/**
 * Instants around every durable step of a control plane. In the product reaching one does nothing; the suite of
 * `test/faults` kills the control plane at each of them and looks at what the next one makes of it.
 */

/** What the receiver decides; each decision is one transaction. */
const decisions = [
  "publish",
  "start",
  "control",
  "attach",
  "renew",
  "detach",
  "event",
  "admission",
  "outside",
  "computer",
  "due",
] as const
export type Decision = (typeof decisions)[number]

/** After its commit a decision is told and answered. */
type OfDecision = `${Decision}.${"before_commit" | "after_commit"}`

export const crashPoints = [
  ...decisions.flatMap((decision): OfDecision[] => [`${decision}.before_commit`, `${decision}.after_commit`]),

  "store.migrated",
  "store.before_checkpoint",
  "store.after_checkpoint",
  "address.recorded",

  // The link: what leaves after its commit, and what is forgotten once it has arrived.
  "attached.after_send",
  "acknowledgement.after_send",
  "answer.after_send",
  "command.after_send",
  "command.before_forgetting",
  "command.after_forgetting",

  // The content of a Deployment, before the decision that makes it the current one.
  "content.before_keeping",
  "content.after_keeping",

  // A Computer of the local driver.
  "workspace.made",
  "configuration.written",
  "credential.registered",
  "supervisor.before_spawn",
  "supervisor.after_spawn",
  "supervisor.recorded",
  "computer.before_removal",
  "computer.removed",
] as const

export type CrashPoint = (typeof crashPoints)[number]
export type Reach = (point: CrashPoint) => void
