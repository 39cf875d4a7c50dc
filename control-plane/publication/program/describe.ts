/** Asks a bundle what it declares: loads it in a process of its own and reads what that process wrote down. */
import { stat } from "node:fs/promises"
import { fail, ok, type Result } from "@computerd/protocol/errors"
import { ProgramDescription } from "@computerd/protocol/program"
import type { Environment } from "../../environment.ts"
import type { Ports } from "../../ports.ts"
import { lastWords, runSubprocess } from "../subprocess.ts"

export interface DescribeDeps {
  readonly ports: Pick<Ports, "after">
  readonly environment: Environment
  readonly command: readonly string[]
  readonly timeoutMs: number
  readonly signal?: AbortSignal | undefined
}

export interface DescribeRequest {
  readonly bundlePath: string
  readonly outputFile: string
  readonly cwd: string
  /** Of the describing process only; they are neither stored nor given to a Session. */
  readonly variables: Readonly<Record<string, string>>
}

const descriptionMaxBytes = 8 * 1024 * 1024

type Declared = Extract<ProgramDescription, { readonly ok: true }>

const read = async (file: string): Promise<ProgramDescription | "missing" | "too large" | "malformed"> => {
  try {
    if ((await stat(file)).size > descriptionMaxBytes) return "too large"
  } catch {
    return "missing"
  }
  try {
    return ProgramDescription.parse(await Bun.file(file).json())
  } catch {
    return "malformed"
  }
}

const describe = async (request: DescribeRequest, deps: DescribeDeps): Promise<Result<void>> => {
  const outcome = await runSubprocess(
    {
      command: [...deps.command, request.bundlePath, request.outputFile],
      cwd: request.cwd,
      environment: { ...deps.environment, ...request.variables },
      timeoutMs: deps.timeoutMs,
      signal: deps.signal,
    },
    deps.ports,
  )
  switch (outcome.kind) {
    case "exited":
      if (outcome.code === 0) return ok(undefined)
      return fail(
        "invalid_program",
        `loading the program exited with code ${outcome.code}: ${lastWords(outcome.stderr)}`,
      )
    case "signalled":
      return fail("invalid_program", `loading the program was ended by ${outcome.signal}`)
    case "timeout":
      return fail(
        "invalid_program",
        `loading the program took more than ${deps.timeoutMs / 1000} s; its top level must finish`,
      )
    case "not_started":
      return fail("internal", `the describing command cannot be started: ${outcome.message}`)
  }
}

export const describeProgram = async (
  request: DescribeRequest,
  deps: DescribeDeps,
): Promise<Result<Declared>> => {
  const ran = await describe(request, deps)
  const description = await read(request.outputFile)
  if (typeof description === "object" && !description.ok)
    return fail("invalid_program", `the program cannot be loaded: ${description.message}`)
  if (!ran.ok) return ran
  if (typeof description === "object") return ok(description)
  return fail("invalid_program", `the description of the program is ${description}`)
}
