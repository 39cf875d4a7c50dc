/** Durations of the channel's client side, and the pure rule of its backoff. */
import { sessionOrphanMs } from "@computerd/protocol/limits"

export interface ChannelTiming {
  /** Silence is counted in ticks of this length, so that time in which the process was frozen is not silence. */
  readonly tickMs: number
  /** From dialling to `welcome`. */
  readonly connectMs: number
  /** A connection that was silent for this many ticks is given up; pings are sent from the first one. */
  readonly deadAfterTicks: number
  /** Silence of any kind, connected or not, after which the process ends itself. */
  readonly orphanMs: number
  /** First wait before a redial; each failure doubles it up to the last. */
  readonly redialFirstMs: number
  readonly redialMaxMs: number
}

export const channelTiming: ChannelTiming = {
  tickMs: 10_000,
  connectMs: 10_000,
  deadAfterTicks: 3,
  orphanMs: sessionOrphanMs,
  redialFirstMs: 25,
  redialMaxMs: 1_000,
}

/** Half to all of the doubled wait, so that many processes do not redial in step. `random` is in [0, 1). */
export const redialDelayMs = (timing: ChannelTiming, failures: number, random: number): number => {
  const full = Math.min(timing.redialMaxMs, timing.redialFirstMs * 2 ** Math.min(failures, 20))
  return full / 2 + (full / 2) * random
}
