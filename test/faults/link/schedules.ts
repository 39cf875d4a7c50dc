/** Many schedules, one seed each, and what is told about them. */
import { planFrom } from "./plan.ts"
import { randomFrom } from "./random.ts"
import { runSchedule } from "./schedule.ts"
import { shrink } from "./shrink.ts"
import { Died } from "./world.ts"

export interface Summary {
  schedules: number
  steps: number
  faults: Record<string, number>
  violations: { readonly seed: number; readonly what: string; readonly trace: readonly string[] }[]
}

const violationsMax = 5

/** A process that was killed leaves promises that nobody waits for; anything else that nobody handles is a fault. */
const withoutTheDead = <Value>(work: () => Value): Value => {
  const notice = (error: unknown): void => {
    if (!(error instanceof Died)) throw error
  }
  process.on("unhandledRejection", notice)
  try {
    return work()
  } finally {
    // Rejections of the last schedule are told after this turn of the event loop.
    setTimeout(() => process.off("unhandledRejection", notice), 0)
  }
}

export const runSchedules = (options: {
  readonly seed: number
  readonly schedules: number
  readonly shrink: boolean
}): Summary =>
  withoutTheDead(() => {
    const summary: Summary = { schedules: 0, steps: 0, faults: {}, violations: [] }
    for (let seed = options.seed; seed < options.seed + options.schedules; seed += 1) {
      const plan = planFrom(randomFrom(seed))
      const { steps, faults, violation } = runSchedule(seed, plan)
      summary.schedules += 1
      summary.steps += steps
      for (const [kind, count] of faults) summary.faults[kind] = (summary.faults[kind] ?? 0) + count
      if (violation === undefined) continue
      const { trace } = options.shrink ? runSchedule(seed, shrink(seed, plan), true) : { trace: [] }
      summary.violations.push({ seed, what: violation, trace })
      if (!options.shrink || summary.violations.length >= violationsMax) break
    }
    return summary
  })

export const joined = (parts: readonly Summary[]): Summary => {
  const whole: Summary = { schedules: 0, steps: 0, faults: {}, violations: [] }
  for (const { schedules, steps, faults, violations } of parts) {
    whole.schedules += schedules
    whole.steps += steps
    for (const [kind, count] of Object.entries(faults)) whole.faults[kind] = (whole.faults[kind] ?? 0) + count
    whole.violations.push(...violations)
  }
  return whole
}

const row = (name: string, count: number): string => `${String(count).padStart(10)}  ${name}`

export const tableOf = ({ schedules, steps, faults, violations }: Summary): string =>
  [
    row("schedules", schedules),
    row("steps", steps),
    ...Object.entries(faults)
      .toSorted(([one], [other]) => (one < other ? -1 : 1))
      .map(([kind, count]) => row(`fault: ${kind}`, count)),
    row("violations", violations.length),
  ].join("\n")

const traceLines = 80

export const storyOf = ({ seed, what, trace }: Summary["violations"][number]): string =>
  [`seed ${seed}: ${what}`, ...trace.slice(-traceLines).map((line) => `  ${line.slice(0, 240)}`)].join("\n")
