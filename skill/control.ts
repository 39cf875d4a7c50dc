/** Controls, from the mildest to the strongest, and what their receipts do not promise. */
import { always, on, type Section } from "./section.ts"

export const control: Section = {
  heading: "Control Sessions",
  about: ["interrupt_turn", "interrupt_session", "resume_session", "close_session", "cancel_session"],
  paragraphs: [
    always(
      "Controls act on descendants of this Session only. A receipt says that the control was accepted. It does not prove that anything has stopped, and nothing that the work already did outside is taken back.",
    ),
    on(
      "interrupt_turn",
      "`interrupt_turn` stops exactly one running Turn. It leaves no hold, so the next queued Turn runs, and it does not touch the target's children. At `turn_not_interruptible` the Turn was not running; the text says what it was.",
    ),
    on(
      "interrupt_session",
      "`interrupt_session` holds a Session and its whole subtree: running Turns are asked to stop, queued ones wait. Keep the `holdId`.",
    ),
    on(
      "resume_session",
      "`resume_session` releases exactly one hold. Post the hold's `id` to the hold's own `session_id`, and only where `can_release` is true: of interrupts those that this Session placed. A Turn that was interrupted does not run again; send its input anew if it still matters.",
    ),
    on(
      "close_session",
      "`close_session` is the ordinary end: no more work is taken, what can run finishes, held queued work and open questions are cancelled. Close children that you no longer need; it frees their Computers.",
    ),
    on(
      "cancel_session",
      "`cancel_session` calls off the rest as well: queued work is cancelled and running work is asked to stop. Use it when the work is no longer wanted, not to hurry it.",
    ),
    on(
      ["close_session", "cancel_session"],
      "Both return `closing` or `closed`; `closing` goes on by itself.",
    ),
  ],
}
