/**
 * Instants around every durable step of a supervisor. In the product reaching one does nothing; the suite of
 * `test/faults` kills the supervisor at each of them and looks at what the next one makes of it.
 */
export const crashPoints = [
  "store.before_migration",
  "store.migrated",
  "channel.port_recorded",

  // The control plane's word, and the lease under which it is followed.
  "attach.before_commit",
  "attach.after_commit",
  "lease.after_grant",
  "lease.after_renewal",
  "command.before_commit",
  "command.after_commit",

  // A Session process, from its number to its end.
  "generation.before_commit",
  "generation.after_commit",
  "bundle.before_rename",
  "bundle.after_rename",
  "process.before_record",
  "process.after_record",
  "turn.before_commit",
  "turn.after_commit",
  "frame.after_send",
  "report.before_commit",
  "report.after_commit",
  "report.after_acknowledgement",
  "stop.before_commit",
  "stop.after_commit",
  "exit.before_commit",
  "exit.after_commit",
  "release.before_commit",
  "release.after_commit",

  // Descriptors and the getter calls that ask for them.
  "descriptor.before_commit",
  "descriptor.after_commit",
  "connection.before_commit",
  "connection.after_commit",

  // A mutating call, from its entry in the journal to the caller's answer.
  "admission.before_commit",
  "admission.after_commit",
  "admission.after_send",
  "admission.before_settle",
  "admission.after_settle",
  "admission.after_doubt",
  "receipt.after_request",
  "receipt.before_settle",
  "receipt.after_settle",

  // Events on their way to the control plane.
  "event.after_send",
  "event.before_forgetting",
  "event.after_forgetting",
] as const

export type CrashPoint = (typeof crashPoints)[number]
export type Reach = (point: CrashPoint) => void
