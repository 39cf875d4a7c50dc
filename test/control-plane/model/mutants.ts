/** Ten rules, each broken on purpose. The model must notice every one of them. */

export interface Mutant {
  readonly name: string
  /** File below `control-plane/`. */
  readonly file: string
  readonly original: string
  readonly broken: string
}

export const mutants: readonly Mutant[] = [
  {
    name: "a receipt is found before the grant is checked",
    file: "rules/admission.ts",
    original:
      "const allowed = rule.allowed(admission, target.value)\n    if (!allowed.ok) return allowed\n    const key",
    broken: "const key",
  },
  {
    name: "another request under a used key gets the old receipt",
    file: "rules/receipts.ts",
    original: "receipt === undefined || receipt.fingerprint === request.fingerprint",
    broken: "receipt !== null",
  },
  {
    name: "a requester controls what it started",
    file: "rules/reach.ts",
    original: "if (session !== undefined && owns(draft, caller.session, session)) return ok(session)",
    broken: "if (session !== undefined && isAccessible(draft, caller.session, session)) return ok(session)",
  },
  {
    name: "enqueue reaches other Environments",
    file: "rules/reach.ts",
    original: "session === undefined || session.environment !== caller.session.environment",
    broken: "session === undefined",
  },
  {
    name: "children do not inherit interrupts",
    file: "rules/holds.ts",
    original: 'hold.kind === "interrupt"),',
    broken: "false),",
  },
  {
    name: "anybody who owns the Session releases an interrupt",
    file: "rules/holds.ts",
    original: 'if (hold.kind === "interrupt") return hold.placedBy === caller.id\n',
    broken: "",
  },
  {
    name: "the second settlement of a Turn wins",
    file: "rules/settle.ts",
    original: "if (now === undefined || isSettled(now)) return false",
    broken: "if (now === undefined) return false",
  },
  {
    name: "a held Session is dispatched",
    file: "rules/dispatch.ts",
    original: "|| isHeld(draft, session)",
    broken: "",
  },
  {
    name: "a parent closes before its children",
    file: "rules/closing.ts",
    original: "if (children.length === 0) close",
    broken: "close",
  },
  {
    name: "spawning does not restart the parent's idle clock",
    file: "rules/creation.ts",
    original: "if (owned) restartIdleClock(draft, requester, given)",
    broken: "",
  },
  {
    name: "an old generation keeps its authority",
    file: "rules/caller.ts",
    original: "if (request.generation < session.generation) return",
    broken: "if (request.generation < 0) return",
  },
  {
    name: "delegation is one step deeper than allowed",
    file: "rules/creation.ts",
    original: "caller.session.depth < max",
    broken: "caller.session.depth <= max",
  },
  {
    name: "cursors work for other callers",
    file: "rules/cursors.ts",
    original: "canonical([list.caller, list.tool, list.filters, position])",
    broken: "canonical([list.tool, list.filters, position])",
  },
  {
    name: "parking takes a Computer that is busy",
    file: "rules/capacity.ts",
    original: 'if (demand !== "none") return { ...computer, wantedSince: null, parkableSince: null }',
    broken: "",
  },
]
