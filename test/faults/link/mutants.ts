/** Rules of the link, each broken on purpose in the text of the product as it is loaded. The simulation must notice each. */
import { join } from "node:path"

interface Change {
  /** Below the repository's root. */
  readonly file: string
  readonly original: string
  readonly broken: string
}

export interface Mutant {
  readonly name: string
  readonly changes: readonly Change[]
}

export const mutants: readonly Mutant[] = [
  {
    name: "the cursor moves before the command is applied",
    changes: [
      {
        file: "supervisor/link/connection.ts",
        original:
          'store.transaction(() => {\n      store.afterCommit(() => ports.reach("command.after_commit"))\n      leases.setReceived(seq)',
        broken:
          'leases.setReceived(seq)\n    store.transaction(() => {\n      store.afterCommit(() => ports.reach("command.after_commit"))',
      },
    ],
  },
  {
    name: "a command that comes again is applied again",
    changes: [
      {
        file: "supervisor/link/attempt.ts",
        original: "switch (arrival(phase.received, frame.seq)) {",
        broken: 'switch (frame.seq <= phase.received ? "apply" : arrival(phase.received, frame.seq)) {',
      },
    ],
  },
  {
    name: "a gap between commands is passed over",
    changes: [
      {
        file: "supervisor/link/attempt.ts",
        original: "switch (arrival(phase.received, frame.seq)) {",
        broken: 'switch (frame.seq > phase.received ? "apply" : arrival(phase.received, frame.seq)) {',
      },
    ],
  },
  {
    name: "an event is acknowledged before it is durable",
    changes: [
      {
        file: "control-plane/link/connection.ts",
        original: "const applied = receiver.event(",
        broken: 'send({ kind: "ack", ack: frame.seq })\n    const applied = receiver.event(',
      },
    ],
  },
  {
    name: "an event that comes again is applied again",
    changes: [
      {
        file: "control-plane/receiver/reports.ts",
        original: 'if (order === "repeat") return ok(undefined)',
        broken: "",
      },
    ],
  },
  {
    name: "a gap between events is passed over",
    changes: [
      { file: "control-plane/receiver/reports.ts", original: 'if (order === "gap")', broken: "if (false)" },
    ],
  },
  {
    name: "an older epoch is accepted",
    changes: [
      { file: "control-plane/rules/attachment.ts", original: "|| computer.epoch !== epoch ?", broken: "?" },
      {
        file: "control-plane/link/connection.ts",
        original: "frame.epoch === phase.epoch",
        broken: "frame.epoch > 0",
      },
      {
        file: "control-plane/link/connections.ts",
        original: "older !== undefined && older !== connection",
        broken: "older !== undefined && older === connection",
      },
    ],
  },
  {
    name: "another store gets the lease while the old one holds it",
    changes: [
      {
        file: "control-plane/rules/attachment.ts",
        original: "computer.leaseUntil !== null && computer.leaseUntil > now",
        broken: "computer.leaseUntil !== null && computer.leaseUntil < 0",
      },
    ],
  },
  {
    name: "the lease is counted from its answer",
    changes: [
      {
        file: "supervisor/link/connection.ts",
        original: "lease.grant(frame.lease, this.#attachAskedAtMs)",
        broken: "lease.grant(frame.lease, ports.clock.elapsedMs())",
      },
      {
        file: "supervisor/link/connection.ts",
        original: "this.#deps.lease.grant(grant, askedAtMs)",
        broken: "this.#deps.lease.grant(grant, this.#deps.ports.clock.elapsedMs())",
      },
    ],
  },
  {
    name: "an acknowledgement takes one event too many",
    changes: [
      {
        file: "supervisor/link/outbox.ts",
        original: "table.removeThrough(Math.min(ack, sent)))",
        broken: "table.removeThrough(ack + 1))",
      },
    ],
  },
  {
    name: "numbers are not aligned after a power cut",
    changes: [
      {
        file: "supervisor/link/outbox.ts",
        original: "const shift = received - (lastSeq - events)",
        broken: "const shift = 0",
      },
    ],
  },
  {
    name: "what a run never sent counts as sent",
    changes: [
      {
        file: "supervisor/link/outbox.ts",
        original: "table.unsentAfter() ?? table.totals().lastSeq",
        broken: "table.totals().lastSeq",
      },
    ],
  },
  {
    name: "a mutation is sent again after a cut",
    changes: [
      {
        file: "supervisor/admission/admissions.ts",
        original: 'if (call.kind !== "mutation") {\n      this.#calls.recall',
        broken: "if (call.kind) {\n      this.#calls.recall",
      },
    ],
  },
  {
    name: "uncertain outcomes are not asked for",
    changes: [
      {
        file: "supervisor/admission/settle.ts",
        original: "attached: askMore",
        broken: "attached: () => undefined",
      },
    ],
  },
  {
    name: "what an earlier run sent is not doubted",
    changes: [
      {
        file: "supervisor/admission/admissions.ts",
        original: 'this.#record("start", entries.doubt)',
        broken: "",
      },
    ],
  },
  {
    name: "the outcome of an abandoned mutation is not told",
    changes: [
      {
        file: "control-plane/link/requests.ts",
        original: "(isMutation || !controller.signal.aborted)",
        broken: "!controller.signal.aborted",
      },
    ],
  },
]

const root = join(import.meta.dir, "../../..")

const load = async (path: string, changes: readonly Change[]): Promise<string> => {
  let text = await Bun.file(path).text()
  for (const { file, original, broken } of changes) {
    if (!text.includes(original)) throw new Error(`a mutant does not fit ${file} any more: ${original}`)
    text = text.replace(original, broken)
  }
  return text
}

export const breakRules = (index: number): void => {
  const mutant = mutants[index]
  if (mutant === undefined) throw new Error(`there is no mutant ${index}`)
  for (const file of new Set(mutant.changes.map((change) => change.file))) {
    const path = join(root, file)
    const changes = mutant.changes.filter((change) => change.file === file)
    Bun.plugin({
      name: `mutant ${file}`,
      setup: (build) => {
        build.onLoad({ filter: new RegExp(`/${file.replaceAll(".", "\\.")}$`) }, async () => ({
          contents: await load(path, changes),
          loader: "ts",
        }))
      },
    })
  }
}
