/** What a verb was asked for, and how it answers. */
import type { FleetWork } from "../arguments/fleet/command.ts"
import { writeAnswer } from "../output.ts"
import type { FleetDeps } from "./deps.ts"

export interface Asked<Work extends FleetWork = FleetWork> {
  readonly work: Work
  readonly json: boolean
}

/** For people, or the same as one JSON value. */
export const answer = async (
  said: { readonly text: string; readonly value: unknown },
  json: boolean,
  { out }: Pick<FleetDeps, "out">,
): Promise<number> => {
  await writeAnswer(out, json ? `${JSON.stringify(said.value)}\n` : said.text)
  return 0
}
