/** The course of a soak: scenes at a steady pace, mishaps at their times, a rest with a sample each minute, the end. */
import { assembleCast, type Cast, exercise } from "./cast.ts"
import { cutLink, killSupervisor } from "./mishaps.ts"
import { type Choices, choicesOf } from "./random.ts"
import { remains, remember, type Seen, unsettled } from "./remains.ts"
import { type Sample, takeSample } from "./sample.ts"
import { playScene } from "./scenes.ts"
import { createStage, type Stage } from "./stage.ts"
import { settledMinute } from "./table.ts"

export interface SoakOptions {
  readonly minutes: number
  readonly seed: number
}

export interface Outcome {
  readonly samples: readonly Sample[]
  /** How often each thing was done. */
  readonly played: ReadonlyMap<string, number>
  readonly complaints: readonly string[]
}

/** A scene starts this long after the one before it at the earliest, which keeps a sixth of one core busy. */
const paceMs = 1_500
/** Until memory is first compared, scenes follow at once: code is compiled and caches fill by use, not by time. */
const paceOf = (minute: number): number => (minute <= settledMinute ? 0 : paceMs)
const minuteMs = 60_000
const supervisorKillEveryMinutes = 10
const firstKillMinute = 4

class Play {
  readonly samples: Sample[] = []
  readonly played = new Map<string, number>()
  readonly complaints: string[] = []
  readonly seen: Seen = { processes: new Set(), ports: new Set() }

  readonly cast: Cast
  readonly choices: Choices

  constructor(cast: Cast, choices: Choices) {
    this.cast = cast
    this.choices = choices
  }

  count(what: string): void {
    this.played.set(what, (this.played.get(what) ?? 0) + 1)
  }

  /** What fails is told and counted, and the soak goes on. */
  async attempt(work: () => Promise<string>): Promise<void> {
    try {
      this.count(await work())
    } catch (error) {
      this.complaints.push(error instanceof Error ? error.message : String(error))
    }
  }

  async rest(): Promise<void> {
    const { sample, pids, ports } = await takeSample(this.cast)
    remember(this.seen, pids, ports)
    this.samples.push(sample)
    const { supervisor, "control plane": plane } = sample.memory
    const told = [plane, supervisor, sample.memory["Session process"]].map(({ anonymous }) =>
      (anonymous / 2 ** 20).toFixed(1),
    )
    console.log(
      `minute ${this.samples.length - 1}: ${told.join(", ")} MiB; ${this.complaints.length} complaints`,
    )
  }
}

/** Mishaps go on beside the scene that is being played. */
const mishap = async ({ cast, choices }: Play, minute: number): Promise<string> => {
  const { stage, harassed, spared } = cast
  if (minute % supervisorKillEveryMinutes === firstKillMinute) {
    await killSupervisor(stage, harassed.computerId)
    return "supervisor killed"
  }
  await cutLink(stage, choices.oneOf([harassed, spared]).computerId)
  return "link cut"
}

const playMinute = async (play: Play, minute: number, endsAt: number): Promise<void> => {
  const { cast, choices } = play
  let due: Promise<void> | undefined
  for (let scene = 0; performance.now() < endsAt; scene += 1) {
    const next = performance.now() + paceOf(minute)
    if (scene === 5) due = play.attempt(() => mishap(play, minute))
    const owner = choices.oneOf([cast.spared, cast.harassed])
    await play.attempt(() => playScene({ stage: cast.stage, owner, choices }))
    await play.attempt(() => exercise(cast))
    await Bun.sleep(Math.max(next - performance.now(), 0))
  }
  await due
}

const finish = async (play: Play): Promise<void> => {
  const { stage, spared, harassed } = play.cast
  await Promise.all([spared.close(), harassed.close()])
  const last = await stage.snapshot()
  play.complaints.push(...unsettled(last))
  const exitCode = await stage.stop()
  if (exitCode !== 0) play.complaints.push(`the control plane ended with ${exitCode}`)
  play.complaints.push(...(await remains(stage, play.seen, last)))
}

const perform = async (stage: Stage, { minutes, seed }: SoakOptions): Promise<Outcome> => {
  const play = new Play(await assembleCast(stage), choicesOf(seed))
  const began = performance.now()
  await play.rest()
  for (let minute = 1; minute <= minutes; minute += 1) {
    await playMinute(play, minute, began + minute * minuteMs)
    await play.rest()
  }
  await finish(play)
  return play
}

export const playSoak = async (options: SoakOptions): Promise<Outcome> => {
  const stage = await createStage()
  try {
    return await perform(stage, options)
  } finally {
    await stage.stop()
    await stage.rig.close()
  }
}
