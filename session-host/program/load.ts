/** Loads a published bundle and finds the Agent that this process runs. */
import type { Result } from "@computerd/protocol/errors"
import { fail, messageOf } from "../turn/failure.ts"
import { type Callable, exportsOf, isCallable, isDefinition } from "./definitions.ts"

export interface LoadedAgent {
  /** Absent: the Agent has no `init`. */
  readonly init?: Callable
  readonly turn: Callable
}

export const importBundle = async (path: string): Promise<Result<object>> => {
  try {
    const module: object = await import(Bun.pathToFileURL(path).href)
    return { ok: true, value: module }
  } catch (error) {
    return fail("invalid_program", `The program could not be loaded: ${messageOf(error)}`)
  }
}

/** Functions are called as methods of their definition. */
const method = (definition: Readonly<Record<string, unknown>>, name: string): Callable | undefined => {
  const value = definition[name]
  return isCallable(value) ? (...args) => Reflect.apply(value, definition, args) : undefined
}

export const findAgent = (module: object, id: string): Result<LoadedAgent> => {
  const agents = exportsOf(module).flatMap(({ value }) => (isDefinition(value, "agent") ? [value] : []))
  const found = agents.find((one) => one["id"] === id)
  if (found === undefined) {
    const known = agents.map((one) => String(one["id"])).join(", ") || "none"
    return fail("invalid_program", `The program exports no Agent with id ${id}; its Agents: ${known}.`)
  }
  const turn = method(found, "turn")
  if (turn === undefined) return fail("invalid_program", `Agent ${id} has no turn function.`)
  const init = method(found, "init")
  return { ok: true, value: init === undefined ? { turn } : { init, turn } }
}
