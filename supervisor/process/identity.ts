/**
 * Which process is meant. A pid alone is reused; pid, start time and boot id together never are. Pure: what `/proc`
 * says comes in as text.
 *
 * PI1 two processes are the same only if pid, start time and boot id agree
 */
import type { Generation, SessionId } from "@computerd/protocol/ids"

/** Which run of which Session: what authority is bound to. */
export interface ProcessIdentity {
  readonly sessionId: SessionId
  readonly generation: Generation
}

/** Which entry of the kernel's process table. */
export interface ProcessStamp {
  readonly pid: number
  /** Clock ticks since boot, as the kernel prints them. */
  readonly startTime: string
  readonly bootId: string
}

export const sameProcess = (one: ProcessStamp, other: ProcessStamp): boolean =>
  one.pid === other.pid && one.startTime === other.startTime && one.bootId === other.bootId

/** The fields of `/proc/<pid>/stat` that are needed here. */
export interface ProcessStat {
  readonly pid: number
  /** `Z` and `X` are dead: only the parent has not looked yet. */
  readonly state: string
  readonly parent: number
  readonly group: number
  readonly session: number
  readonly startTime: string
  /** Of a dead one, as `wait` will give it to its parent. */
  readonly exitStatus: number
}

export const isDead = (stat: ProcessStat): boolean => stat.state === "Z" || stat.state === "X"

/** The name in parentheses may itself hold spaces and parentheses, so fields are counted from the last one. */
export const parseStat = (text: string): ProcessStat | undefined => {
  const open = text.indexOf("(")
  const close = text.lastIndexOf(")")
  if (open === -1 || close === -1) return undefined
  const [state, parent, group, session, ...rest] = text.slice(close + 2).split(" ")
  const startTime = rest[15]
  if (state === undefined || session === undefined || startTime === undefined) return undefined
  return {
    pid: Number(text.slice(0, open)),
    state,
    parent: Number(parent),
    group: Number(group),
    session: Number(session),
    startTime,
    // Fields are counted from the state, which is the third; this is the 52nd.
    exitStatus: Number(rest[45]),
  }
}

/** Whether the NUL-separated environment holds exactly this variable. */
export const hasMarker = (environ: string, marker: string): boolean =>
  environ.startsWith(`${marker}\0`) || environ.includes(`\0${marker}\0`) || environ.endsWith(`\0${marker}`)
