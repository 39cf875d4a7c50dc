import { expect, test } from "bun:test"
import { ErrorCode } from "@computerd/protocol/errors"
import { ToolName } from "@computerd/protocol/tools"
import { exists, files, linesWith, shipped } from "./tree.ts"

const offenders = async (pattern: RegExp, allowed: RegExp): Promise<readonly string[]> =>
  (await files(shipped))
    .filter((file) => !allowed.test(file.path))
    .flatMap((file) => linesWith(file, pattern))

test("only configuration, the command and example programs read the environment", async () => {
  const allowed = /^(supervisor\/config|computerd|examples)\//
  expect(await offenders(/\b(process|Bun|import\.meta)\.env\b/, allowed)).toEqual([])
})

test("clock and chance come in through ports", async () => {
  const allowed = /(^|\/)ports\.ts$/
  expect(await offenders(/\b(Date\.now|Math\.random|performance\.now)\(|\bnew Date\(\)/, allowed)).toEqual([])
})

test("nothing is left unfinished and no check is switched off", async () => {
  const unfinished =
    /@ts-(ignore|nocheck|expect-error)|biome-ignore|\bas any\b|\bas unknown as\b|not implemented/i
  expect(await offenders(unfinished, /^$/)).toEqual([])
})

test("a comment names only files that exist", async () => {
  const missing: string[] = []
  for (const { path, text } of await files(shipped)) {
    const comments = text.match(/\/\*[\s\S]*?\*\/|(?<=^|\s)\/\/.*$/gm) ?? []
    for (const [name] of comments.join("\n").matchAll(/[\w./-]+\/[\w.-]+\.(?:ts|md|json|sqlite)\b/g)) {
      const folder = path.slice(0, path.lastIndexOf("/") + 1)
      if (
        !(await exists(name)) &&
        !(await exists(`${folder}${name}`)) &&
        !(await exists(`${path.split("/")[0]}/${name}`))
      )
        missing.push(`${path}: ${name}`)
    }
  }
  expect(missing).toEqual([])
})

test("every error code is used, but for those reserved for a Slack binding", async () => {
  const reserved = new Set([
    "channel_unavailable",
    "start_message_too_large",
    "source_conversation_pending",
    "source_conversation_unavailable",
    "conversation_changed",
    "target_workspace_mismatch",
  ])
  const sources = (await files(shipped)).filter((file) => file.path !== "protocol/errors.ts")
  const unused = ErrorCode.options.filter(
    (code) => !reserved.has(code) && !sources.some((file) => file.text.includes(`"${code}"`)),
  )
  expect(unused).toEqual([])
})

test("the README names every tool and every file of docs/", async () => {
  const readme = await Bun.file(new URL("../../README.md", import.meta.url)).text()
  const tools = ToolName.options.filter((tool) => !readme.includes(`\`${tool}\``))
  const docs = (await files("docs/*.md")).filter(({ path }) => !readme.includes(`(${path})`))
  expect({ tools, docs: docs.map(({ path }) => path) }).toEqual({ tools: [], docs: [] })
})
