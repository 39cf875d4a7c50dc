/** How to wait, read outcomes and find work again. */
import { always, on, type Section } from "./section.ts"

export const outcomes: Section = {
  heading: "Wait and read outcomes",
  about: ["wait_turn", "inspect_turn"],
  paragraphs: [
    on(
      "wait_turn",
      '`wait_turn` waits for one Turn, up to 30000 ms a call. `{ "status": "timeout" }` means only that the time is over: the Turn goes on, so call again. With several Turns, wait for one after the other; those that finish meanwhile answer at once.',
    ),
    on(
      "inspect_turn",
      "`inspect_turn` reads one Turn as it is now, without waiting. Use it for a look in passing.",
    ),
    on(
      ["inspect_turn", "wait_turn"],
      "To learn when a Turn settles, one `wait_turn` is cheaper than `inspect_turn` again and again.",
    ),
    always(
      "A settled Turn has one of four statuses. `completed`: `result` is what the program returned and `response`, where there is one, is what the Agent said. `failed`: `error` says why; the Session stays open, and the same input may fail again. `interrupted`: it was stopped or its process was lost, and the work may be half done. `cancelled`: it was called off on purpose.",
    ),
    always(
      "Read the outcome before you use it: a completed Turn may still say that it could not do what you asked. Report failures of delegated work as what they are.",
    ),
    always(
      "`payloadExpiredAt` instead of a result means that the content is no longer kept; the status still holds.",
    ),
    on(
      "wait_turn",
      "At `capacity_wait_blocked` the Turn cannot begin while this Session keeps its Computer. Waiting longer cannot help: end your own Turn with what you have and say which Turn is outstanding.",
    ),
  ],
}

export const sessions: Section = {
  heading: "Find and inspect Sessions",
  about: ["inspect_session", "list_sessions"],
  paragraphs: [
    on(
      "list_sessions",
      '`list_sessions` finds again what this Session created, ended work included: `relation: "owned"` lists direct children, `relation: "requested"` adds independent work. Use it when you no longer know an id, for instance after a restart. Follow `next_cursor` until it is absent.',
    ),
    on(
      "inspect_session",
      "`inspect_session` shows one Session: status, first Turn, holds. It shows no input, output or history.",
    ),
    on(
      "inspect_session",
      "`status` is `open`, `closing` (takes no more work) or `closed`. Anything in `holds` means that queued Turns wait; `recovery` holds carry a `recovery_gap` that says what was lost.",
    ),
  ],
}

export const computers: Section = {
  heading: "See Computers",
  about: ["list_computers"],
  paragraphs: [
    on(
      "list_computers",
      "`list_computers` shows this Session's own Computer and those of Sessions that it owns or requested, with status and residency. Seeing a Computer does not permit placing work on it.",
    ),
  ],
}
