/** Whether a package is for this machine, by the `os`, `cpu` and `libc` fields that installers honour. */
import { readdirSync } from "node:fs"

export interface PlatformFields {
  readonly os?: readonly string[] | undefined
  readonly cpu?: readonly string[] | undefined
  readonly libc?: readonly string[] | undefined
}

const allows = (list: readonly string[] | undefined, value: string): boolean => {
  if (list === undefined || list.length === 0) return true
  if (list.includes(`!${value}`)) return false
  const named = list.filter((entry) => !entry.startsWith("!"))
  return named.length === 0 || named.includes(value)
}

const isMusl = (): boolean => {
  try {
    return readdirSync("/lib").some((name) => name.startsWith("ld-musl-"))
  } catch {
    return false
  }
}

export const fitsPlatform = ({ os, cpu, libc }: PlatformFields): boolean =>
  allows(os, process.platform) && allows(cpu, process.arch) && allows(libc, isMusl() ? "musl" : "glibc")
