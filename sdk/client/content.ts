/** Where text is sent, a string stands for one part. */
import type { Content, TextPart } from "../turn.ts"

export type ContentInput = string | Content

export const contentOf = (given: ContentInput): TextPart[] =>
  typeof given === "string"
    ? [{ type: "text", text: given }]
    : given.map(({ type, text }) => ({ type, text }))
