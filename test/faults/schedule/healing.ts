/** After the last fault: everything must settle by itself within a bound, once people have released what was left to them. */
import type { Operator } from "../workload/operator.ts"

export interface Healing {
  readonly afterMs: number
  /** What had not settled, or closed, within the bound. */
  readonly left: readonly string[]
}

const lookEveryMs = 50

/** Looks until nothing is left, releasing holds meanwhile. */
const until = async (
  what: () => Promise<readonly string[]>,
  operator: Operator,
  deadlineMs: number,
): Promise<readonly string[]> => {
  for (;;) {
    await operator.release("all")
    const left = await what()
    if (left.length === 0 || performance.now() > deadlineMs) return left
    await Bun.sleep(lookEveryMs)
  }
}

/** `callers` end when every call that is under way has its answer. */
export const settleAll = async (
  operator: Operator,
  callers: Promise<unknown>,
  boundMs: number,
): Promise<Healing> => {
  const startedMs = performance.now()
  const deadlineMs = startedMs + boundMs
  let underWay: readonly string[] = ["a call has no answer"]
  void callers.then(() => {
    underWay = []
  })
  const unanswered = await until(async () => underWay, operator, deadlineMs)
  const unsettled = await until(operator.unsettled, operator, deadlineMs)
  const settledMs = performance.now()
  await operator.closeAll()
  const open = await until(operator.open, operator, deadlineMs)
  return { afterMs: Math.round(settledMs - startedMs), left: [...unanswered, ...unsettled, ...open] }
}
