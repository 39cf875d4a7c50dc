/** Keeps the picture of a followed tree and shows it: as a live frame, or line by line; output of Turns beside it. */
import { timestamp } from "@computerd/protocol/content"
import type { SessionEvent } from "@helmr/sdk"
import type { Ports } from "../../ports.ts"
import { createPieces, type Pieces } from "../../view/pieces.ts"
import type { Subject, View } from "../../view/view.ts"
import { sessionFrame } from "./frame.ts"
import { eventText } from "./line.ts"
import { type Tree, treeAfter } from "./tree.ts"

export interface Picture {
  readonly subject: Subject
  readonly add: (event: SessionEvent, view: Pick<View, "output">) => void
}

/** `before` is what it looked like when the following begins. */
export const createPicture = (before: Tree, ports: Pick<Ports, "now">): Picture => {
  let tree = before
  const listeners = new Set<(line: string) => void>()
  /** Output that has not come to the end of its line. */
  const open = new Map<string, Pieces>()

  const show = (event: SessionEvent, view: Pick<View, "output">): void => {
    const source = tree.get(event.sessionId)?.agent ?? event.sessionId
    const each = (lines: readonly string[]): void => {
      for (const line of lines) view.output(source, line, Date.parse(event.at))
    }
    if (event.type === "turn_output") {
      const pieces = open.get(event.turnId) ?? createPieces()
      open.set(event.turnId, pieces)
      each(pieces.add(event.text))
    }
    if (event.type === "turn_settled") {
      each(open.get(event.turnId)?.rest() ?? [])
      open.delete(event.turnId)
    }
  }

  return {
    subject: {
      frame: (input) => sessionFrame({ ...input, tree, nowMs: ports.now() }),
      onLine: (listener) => {
        listeners.add(listener)
        return () => listeners.delete(listener)
      },
      // Of a clock, since work may last for weeks.
      stamp: timestamp,
    },
    add: (event, view) => {
      tree = treeAfter(tree, event)
      show(event, view)
      const line = eventText(event)
      if (line !== undefined) for (const listener of listeners) listener(line)
    },
  }
}
