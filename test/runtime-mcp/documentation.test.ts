import { expect, test } from "bun:test"
import { refusalRows, toolRows } from "./documentation.ts"

const page = await Bun.file(new URL("../../docs/runtime-mcp.md", import.meta.url)).text()

test("the table of tools in docs/runtime-mcp.md is that of the catalogue", () => {
  expect(page).toContain(`\n${toolRows()}\n`)
})

test("the table of refusals in docs/runtime-mcp.md is that of the endpoint", () => {
  expect(page).toContain(`\n${refusalRows()}\n`)
})
