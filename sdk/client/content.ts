/** Where text is sent, a string stands for one part. The parts are copied: a repeated request says the same. */
import type { Content, TextPart } from "../turn.ts"
import { invalidArgument } from "./errors.ts"

export type ContentInput = string | Content

export const contentOf = (given: ContentInput): TextPart[] => {
  if (typeof given === "string") return [{ type: "text", text: given }]
  if (!Array.isArray(given)) throw invalidArgument("content", "must be a text or a list of text parts")
  return given.map(({ type, text }) => ({ type, text }))
}
