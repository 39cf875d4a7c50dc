/**
 * The environment of a Session process, built from nothing. The supervisor's own variables, credentials among them,
 * cannot get there by accident; neither can those that make Bun, Node or the loader run other code.
 */
import { SessionId } from "@computerd/protocol/ids"

const inherited = ["PATH", "HOME", "LANG", "TZ", "TMPDIR", "USER", "SHELL", "TERM"]
const locale = /^LC_[A-Z]+$/
const refused = /^(BUN|NODE|LD|HELMR|COMPUTERD)_/

type Variables = Readonly<Record<string, string | undefined>>

export interface EnvironmentParts {
  /** The supervisor's own environment; only the allow-list is taken from it. */
  readonly own: Variables
  /** From the configuration. */
  readonly configured: Variables
  /** Set last, so that nothing replaces them. Descendants inherit them, which is how an escaped one is found. */
  readonly markers: Readonly<Record<string, string>>
}

const sessionVariable = "HELMR_SESSION_ID="

export const sessionMarker = (sessionId: string): string => `${sessionVariable}${sessionId}`

export const computerMarker = (computerId: string): string => `HELMR_COMPUTER_ID=${computerId}`

/** Of the process that keeps exits beyond the life of its supervisor. */
export const recorderMarker = "HELMR_EXIT_RECORDER=1"

/** The Session that the NUL-separated environment of a process names. */
export const sessionOf = (environ: string): SessionId | undefined => {
  const entry = environ.split("\0").find((each) => each.startsWith(sessionVariable))
  const parsed = SessionId.safeParse(entry?.slice(sessionVariable.length))
  return parsed.success ? parsed.data : undefined
}

export const sessionEnvironment = ({
  own,
  configured,
  markers,
}: EnvironmentParts): Record<string, string> => {
  const built: Record<string, string> = {}
  for (const [name, value] of Object.entries(own))
    if (value !== undefined && (inherited.includes(name) || locale.test(name))) built[name] = value
  for (const [name, value] of Object.entries(configured))
    if (value !== undefined && !refused.test(name)) built[name] = value
  return { ...built, ...markers }
}
