/**
 * Runs one history: the same actions on the real receiver and on the model, every answer compared, and after each
 * action the whole of what both can show. Actions are plain numbers, so that fast-check can shrink them.
 */
import { call, create, steer, together, wait } from "./callers.ts"
import { bindHolds, compareAll, compareCommands, compareWait } from "./compare.ts"
import { lose, remove, report } from "./drivers.ts"
import { control, pass, redeploy, restart, start } from "./outside.ts"
import { ask, bringUp, exit, process, settle, stale, startTurn } from "./processes.ts"
import { type Action, type HistoryOptions, pick, Stage } from "./stage.ts"
import { attach, detach } from "./supervisors.ts"

export type { Action, HistoryOptions } from "./stage.ts"

type Perform = (stage: Stage, action: Action) => void | Promise<void>

/** How often each kind of action comes up among the others. */
const weights: readonly (readonly [Perform, number])[] = [
  [start, 2],
  [attach, 3],
  [detach, 1],
  [process, 4],
  [startTurn, 3],
  [settle, 3],
  [exit, 1],
  [lose, 1],
  [report, 3],
  [remove, 1],
  [control, 1],
  [pass, 2],
  [restart, 1],
  [redeploy, 1],
  [stale, 1],
  [ask, 1],
  [bringUp, 8],
  [create, 4],
  [call, 8],
  [steer, 6],
  [together, 1],
  [wait, 2],
]

const actions = weights.flatMap(([perform, weight]) => Array.from({ length: weight }, () => perform))

export class History {
  readonly stage: Stage

  constructor(options: HistoryOptions) {
    this.stage = new Stage(options)
  }

  async run(action: Action): Promise<void> {
    this.stage.step += 1
    const perform = pick(actions, action.kind) ?? pass
    await perform(this.stage, action)
    await this.#compare()
  }

  /** After each action: commands, waits and, now and then, everything. */
  async #compare(): Promise<void> {
    const { stage } = this
    bindHolds(stage)
    for (const computer of stage.world.computers.values()) compareCommands(stage, computer)
    for (const one of stage.waits) await compareWait(stage, one)
    if (stage.step % stage.options.compareEvery === 0) compareAll(stage)
  }

  async close(): Promise<void> {
    const { stage } = this
    compareAll(stage)
    await stage.rig.close()
    for (const one of stage.waits) {
      if (one.answered) continue
      const answer = await one.promise
      stage.check("a wait at the end", answer.ok ? "ok" : answer.error.code, "admission_unavailable")
    }
  }
}
