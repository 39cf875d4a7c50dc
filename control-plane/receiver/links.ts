/** What the link server asks for a supervisor. */
import { ok } from "@computerd/protocol/errors"
import { unacknowledgedFramesMax } from "@computerd/protocol/limits"
import { attach, detach, renew } from "../rules/attachment.ts"
import { createAdmissions } from "./admissions.ts"
import type { Parts } from "./parts.ts"
import type { Receiver } from "./receiver.ts"
import { applyReport } from "./reports.ts"

type LinkCalls = Pick<
  Receiver,
  "attach" | "renew" | "detach" | "event" | "admit" | "receipt" | "commandsAfter" | "acknowledge"
>

export const links = (parts: Parts): LinkCalls => {
  const { store, ports, commits } = parts
  const admissions = createAdmissions(parts)
  return {
    attach: (computerId, frame) => {
      const attached = commits.now("attach", (draft, given) => attach(draft, { computerId, frame }, given))
      if (attached.ok) {
        const { epoch } = attached.value.lease
        const { version, processes } = frame
        ports.journal.record({
          type: "supervisor_attached",
          computerId,
          epoch,
          version,
          processes: processes.length,
        })
      }
      return attached
    },
    renew: (computerId, epoch) =>
      commits.now("renew", (draft, given) => renew(draft, { computerId, epoch }, given)),
    detach: (computerId, epoch) => {
      commits.persist("detach", (draft) => ok(detach(draft, { computerId, epoch })))
      ports.journal.record({ type: "supervisor_detached", computerId, epoch })
    },
    event: (computerId, epoch, seq, _atMs, event) =>
      commits.now("event", (draft, given) =>
        applyReport(draft, { computerId, epoch, seq, event }, { given, journal: ports.journal }),
      ),
    admit: (computerId, epoch, request, signal) => admissions.admit({ computerId, epoch, request }, signal),
    receipt: (computerId, epoch, sessionId, key) =>
      admissions.receipt({ computerId, epoch }, { sessionId, key }),
    commandsAfter: (computerId, seq) =>
      store.tables.links.commandsAfter(computerId, seq, unacknowledgedFramesMax),
    acknowledge: commits.acknowledge,
  }
}
