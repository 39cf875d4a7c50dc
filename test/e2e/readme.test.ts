import { afterEach, beforeEach, expect, test } from "bun:test"
import { join } from "node:path"
import { type Fixture, fixture } from "../examples/fixture.ts"
import { boundMs, computerd, type Sandbox, sandbox } from "./sandbox.ts"

const clone = new URL("../../", import.meta.url).pathname.replace(/\/$/, "")

let place: Sandbox
let folder: Fixture

beforeEach(async () => {
  place = await sandbox()
  folder = await fixture()
})

afterEach(async () => {
  await place.remove()
  await folder.remove()
})

/** The first code block of a language. */
const block = (text: string, language: string): string => {
  const [, found] = new RegExp(`^\`\`\`${language}\n([\\s\\S]*?)^\`\`\`$`, "m").exec(text) ?? []
  if (found === undefined) throw new Error(`the README has no ${language} block`)
  return found
}

test(
  "the program of the README compiles and runs when it is copied, and prints what the README says",
  async () => {
    const readme = await Bun.file(join(clone, "README.md")).text()
    await folder.write({
      "my-program/index.ts": block(readme, "ts"),
      "my-program/tsconfig.json": block(readme, "json").replaceAll("<clone>", clone),
    })
    const compiled = place.run(
      join(clone, "node_modules/typescript/bin/tsc"),
      "-p",
      join(folder.path, "my-program"),
    )
    const input = "to be or not\nto be"
    const directory = join(folder.path, "my-program")
    const run = place.run(computerd, "dev", directory, "--agent", "coordinator", "--input", input)
    const { exitCode, out } = await run.done
    expect({ exitCode, out }).toEqual({ exitCode: 0, out: block(readme, "text") })
    expect(await compiled.done).toEqual({ exitCode: 0, out: "", err: "" })
  },
  boundMs * 2,
)
