/** How to create work and how to add to it. */
import type { Placement } from "@computerd/protocol/scope"
import { always, on, type Section } from "./section.ts"

export const delegate: Section = {
  heading: "Delegate work",
  about: ["spawn", "start"],
  paragraphs: [
    always(
      "Delegate what can be described completely in text and judged by its answer: a part of a larger task, work for an Agent that knows it better, or parts that can run side by side. Do yourself what is quicker to do than to describe. The other Agent sees nothing of your conversation, so write what to do, what to read, what to leave alone, and in what form to answer.",
    ),
    on(
      "spawn",
      "`spawn` creates a child of this Session. Use it for work whose answer you need: you own the child, so controls on this Session reach it, and ending this Session ends it. The child cannot create work or ask people; it reports such needs to you.",
    ),
    on(
      "start",
      "`start` creates an independent Session. Use it for work that must go on whatever becomes of this Session. It remembers that you asked, but you do not own it and cannot control it; it may create work of its own.",
    ),
    on(
      ["spawn", "start"],
      "When unsure between the two, use `spawn`: forgotten children end with this Session, forgotten independent work does not.",
    ),
    on(
      "list_agents",
      "`list_agents` shows the exact keys of the Agents that can be targeted. Use a key as it is shown; never guess one.",
    ),
    always(
      "Work is created at once and runs on its own; creating several pieces before waiting for the first lets them run side by side. Your own Turn may end before theirs: nothing is lost, but nobody waits for them either. Keep the `sessionId` and `turnId` of each receipt.",
    ),
    always(
      "A chain of delegated work has a greatest depth. At `delegation_depth_exceeded` do the work here or report it.",
    ),
  ],
}

const fresh =
  "Leave `computerId` out to get a fresh Computer from the target Agent's Template. It does not share your files: put what the work needs into the input."
const own =
  "Give this Session's own Computer id as `computerId` to run the work beside you, where it sees your files and you see its. Two Sessions that write the same files get in each other's way."

/** How to choose a Computer, as far as the connection leaves a choice. */
export const placementText = (placements: readonly Placement[] | "any"): readonly string[] => {
  if (placements === "any") return [fresh, own, "Another Computer of the Environment may be named too."]
  const texts = [
    placements.includes("new") ? fresh : undefined,
    placements.includes("caller") ? own : undefined,
  ]
  return [...texts.filter((text) => text !== undefined), "Work cannot be placed on any other Computer."]
}

export const addTo: Section = {
  heading: "Add to existing work",
  about: ["enqueue", "send_turn"],
  paragraphs: [
    on(
      "enqueue",
      "`enqueue` gives an open Session another Turn, after those already queued. Use it to continue with an Agent that has the context, or to report to the Session that asked for your work. A held Session takes the Turn and runs it when its hold is released.",
    ),
    on(
      "send_turn",
      "`send_turn` puts a message before exactly one running Turn of a descendant: a correction or an answer that cannot wait. It is admitted, not yet read, when the call returns. At `message_closed` that Turn takes no more messages.",
    ),
    on(
      ["enqueue", "send_turn"],
      "Use `send_turn` for what concerns the Turn that runs now and `enqueue` for new work. A message never becomes a queued Turn by itself.",
    ),
  ],
}
