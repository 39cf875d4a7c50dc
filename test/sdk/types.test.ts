import { expect, test } from "bun:test"
import { join } from "node:path"

const root = join(import.meta.dir, "../..")

/** Compiles one file as the type check does; what the compiler said. */
const compile = async (file: string): Promise<string> => {
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
      file,
    ],
    { cwd: root, stdout: "pipe", stderr: "pipe" },
  )
  const said = await new Response(compiler.stdout).text()
  await compiler.exited
  return said
}

test("R26 the Runtime MCP types are exported, and the types keep what they promise authors", async () => {
  expect(await compile("test/fixtures/sdk/types.ts")).toBe("")
}, 60_000)

test("the compiler is asked: a promise that does not hold is an error", async () => {
  expect(await compile("test/fixtures/broken/types.ts")).toContain("TS2578")
}, 60_000)
