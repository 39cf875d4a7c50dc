/** Leaves out of a plan whatever the violation does not need. */
import type { Plan } from "./plan.ts"
import { runSchedule } from "./schedule.ts"

/** Names and numbers change with what is left out; the rule that is broken must not. */
const ruleOf = (violation: string | undefined): string | undefined => violation?.split(":")[0]

export const shrink = (seed: number, plan: Plan): Plan => {
  const rule = ruleOf(runSchedule(seed, plan).violation)
  let shortest = plan
  for (let size = plan.length >> 1; size >= 1; size >>= 1) {
    for (let at = 0; at < shortest.length; ) {
      const less = [...shortest.slice(0, at), ...shortest.slice(at + size)]
      if (ruleOf(runSchedule(seed, less).violation) === rule) shortest = less
      else at += size
    }
  }
  return shortest
}
