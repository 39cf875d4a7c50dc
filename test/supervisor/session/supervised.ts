/** Starts `programs/supervised.ts`, and kills it in the state that it has reached. */
import { join } from "node:path"
import type { LinkEvent, SessionAssignment } from "@computerd/protocol/link"
import { listPids, readEnviron, readStat } from "@computerd/supervisor/process/procfs"
import { type newDispatch, temporaryDirectory } from "../harness.ts"
import type { Supervised } from "../programs/supervised.ts"

export interface Left {
  readonly directory: string
  readonly assignment: SessionAssignment
  readonly command: ReturnType<typeof newDispatch>
  /** Of the Session process. */
  readonly pid: number
  /** What the supervisor had reported. */
  readonly events: readonly LinkEvent[]
}

const program = join(import.meta.dir, "../programs/supervised.ts")

/** A supervisor that was killed with SIGKILL, and what it left. */
export const killedSupervisor = async (
  asked: Omit<Supervised, "directory"> & { readonly directory?: string },
): Promise<Left> => {
  const { directory = temporaryDirectory() } = asked
  const supervisor = Bun.spawn([process.execPath, program, JSON.stringify({ ...asked, directory })], {
    stdout: "pipe",
  })
  const { value } = await supervisor.stdout.getReader().read()
  const said = JSON.parse(new TextDecoder().decode(value))
  supervisor.kill("SIGKILL")
  await supervisor.exited
  return { directory, ...said }
}

export const isAlive = (pid: number): boolean => {
  const stat = readStat(pid)
  return stat !== undefined && stat.state !== "Z" && stat.state !== "X"
}

export const livingOf = (sessionId: string): readonly number[] =>
  listPids().filter((pid) => isAlive(pid) && readEnviron(pid)?.includes(sessionId) === true)
