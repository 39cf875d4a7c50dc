/**
 * The environment that processes of the control plane start with: a short allow-list from the one that its own
 * command was given. Nothing else of the caller's environment reaches a supervisor, a bundler or a program.
 */
const inherited = ["PATH", "HOME", "LANG", "TZ", "TMPDIR", "USER", "LOGNAME", "SHELL", "TERM"]

export type Environment = Readonly<Record<string, string>> & { readonly PATH?: string }

export const baseEnvironment = (given: Readonly<Record<string, string | undefined>>): Environment => {
  const kept: Record<string, string> = {}
  for (const [name, value] of Object.entries(given)) {
    if (value === undefined || value === "") continue
    if (inherited.includes(name) || name.startsWith("LC_")) kept[name] = value
  }
  return kept
}
