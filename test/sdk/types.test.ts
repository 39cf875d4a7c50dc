import { expect, test } from "bun:test"
import { join } from "node:path"

const root = join(import.meta.dir, "../..")

/** Compiles the files as the type check does, in one run; the errors, by file. */
const compile = async (...files: readonly string[]): Promise<ReadonlyMap<string, readonly string[]>> => {
  const compiler = Bun.spawn(
    [
      process.execPath,
      join(root, "node_modules/typescript/bin/tsc"),
      "--ignoreConfig",
      "--noEmit",
      "--strict",
      "--exactOptionalPropertyTypes",
      "--skipLibCheck",
      "--allowImportingTsExtensions",
      "--verbatimModuleSyntax",
      "--module",
      "preserve",
      "--target",
      "esnext",
      "--types",
      "bun-types",
      ...files,
    ],
    { cwd: root, stdout: "pipe", stderr: "pipe" },
  )
  const said = await new Response(compiler.stdout).text()
  await compiler.exited
  const lines = said.split("\n").filter((line) => line !== "")
  return Map.groupBy(lines, (line) => line.slice(0, line.indexOf("(")))
}

test("R26 the Runtime MCP types are exported, and the types keep what they promise authors", async () => {
  const [kept, broken] = ["test/fixtures/sdk/types.ts", "test/fixtures/broken/types.ts"] as const
  const errors = await compile(kept, broken)
  expect(errors.get(kept)).toBeUndefined()
  // The compiler was asked: a promise that does not hold is an error.
  expect(errors.get(broken)?.join("\n")).toContain("TS2578")
  expect(errors.size).toBe(1)
}, 60_000)
