/**
 * Whether this machine lets a supervisor learn how processes ended while none ran. Pure: what the kernel says comes in
 * as text.
 */

export interface KernelFacts {
  /** As `uname -r` has it. */
  readonly release: string
  /** Yama's `ptrace_scope`; unset where there is no such restriction. */
  readonly ptraceScope: string | undefined
  /** `/proc/self/status`. */
  readonly status: string
}

/** The first kernel that tells of the exit of a process that is not one's child. */
const firstToTell = { major: 6, minor: 15 }

const tellsExits = (release: string): boolean => {
  const [major = 0, minor = 0] = release.split(".").map((part) => Number.parseInt(part, 10))
  return major > firstToTell.major || (major === firstToTell.major && minor >= firstToTell.minor)
}

const tracing = 1n << 19n
const unrestricted = "0"
const forbidden = "3"

/** To take a descriptor from a process that is not one's child counts as tracing it. */
const mayTake = ({ ptraceScope, status }: KernelFacts): boolean => {
  const scope = ptraceScope?.trim() ?? unrestricted
  if (scope === unrestricted) return true
  const effective = /^CapEff:\s*([0-9a-f]+)$/m.exec(status)?.[1]
  return scope !== forbidden && effective !== undefined && (BigInt(`0x${effective}`) & tracing) !== 0n
}

/** `undefined`: it does. */
export const whyNotRecordable = (facts: KernelFacts): string | undefined => {
  if (!tellsExits(facts.release))
    return `Linux ${facts.release} does not tell how a process ended that another one had started; 6.15 does`
  if (!mayTake(facts))
    return "kernel.yama.ptrace_scope keeps a supervisor from what an earlier one left; run it with CAP_SYS_PTRACE, or set 0"
  return undefined
}
