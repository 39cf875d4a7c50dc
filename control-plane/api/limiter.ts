/** A token bucket for each key: what a second allows may come at once, then as it refills. */
import type { ApiKeyId } from "@computerd/protocol/ids"

export interface Limiter {
  /** 0: go on. Else how long until the next request fits. */
  readonly take: (key: ApiKeyId) => number
}

interface Bucket {
  tokens: number
  at: number
}

const secondMs = 1_000

export const createLimiter = (perSecond: number, runningMs: () => number): Limiter => {
  const buckets = new Map<ApiKeyId, Bucket>()
  const refilled = (key: ApiKeyId): Bucket => {
    const at = runningMs()
    const bucket = buckets.get(key) ?? { tokens: perSecond, at }
    buckets.set(key, bucket)
    bucket.tokens = Math.min(perSecond, bucket.tokens + ((at - bucket.at) * perSecond) / secondMs)
    bucket.at = at
    return bucket
  }
  return {
    take: (key) => {
      const bucket = refilled(key)
      if (bucket.tokens < 1) return Math.ceil(((1 - bucket.tokens) * secondMs) / perSecond)
      bucket.tokens -= 1
      return 0
    },
  }
}
