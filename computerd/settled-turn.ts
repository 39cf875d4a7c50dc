/** How a Turn that has settled reads, for people. Pure. */
import type { Content, Json } from "@computerd/protocol/content"
import { errorText, oneLine } from "./view/text.ts"

interface SettledTurn {
  readonly status: string
  readonly result?: Json | undefined
  readonly response?: Content | undefined
  readonly error?: { readonly code: string; readonly message?: string | undefined } | undefined
}

const ended = (text: string): string => (text === "" || text.endsWith("\n") ? text : `${text}\n`)

/** The response, else the result. */
export const answerText = ({ response, result }: SettledTurn): string =>
  ended(
    response === undefined
      ? JSON.stringify(result ?? null, null, 2)
      : response.map(({ text }) => text).join(""),
  )

/** Why there is no answer. */
export const failureText = ({ status, error }: SettledTurn): string =>
  `${oneLine(`computerd: the Turn ended ${status}${error === undefined ? "" : `: ${errorText(error)}`}`)}\n`
