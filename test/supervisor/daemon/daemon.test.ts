import { afterEach, expect, test } from "bun:test"
import { Computer, type ComputerOptions } from "./computer.ts"

let computers: Computer[] = []

const newComputer = async (options?: ComputerOptions): Promise<Computer> => {
  const computer = await Computer.create(options)
  computers.push(computer)
  return computer
}

afterEach(async () => {
  const closing = computers
  computers = []
  await Promise.all(closing.map((computer) => computer.close()))
})

test("a supervisor attaches, runs a Session's Turn in its own process, and ends cleanly on SIGTERM", async () => {
  const computer = await newComputer()
  const supervisor = await computer.startAttached()
  const session = computer.assign()
  const { results } = await computer.turn(session, [{ do: "write", text: "hello" }])
  expect(results).toEqual([null])
  const output = await computer.event("turn_output")
  expect(output.text).toBe("hello")
  supervisor.kill("SIGTERM")
  expect(await supervisor.exited).toBe(0)
  console.log(await computer.log())
})
