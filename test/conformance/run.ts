/** Runs one scenario of one suite in a process and folder of its own, and reads the checks it leaves. */
import { mkdtemp, readdir, readFile, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import { fileURLToPath } from "node:url"

export interface Check {
  readonly id: string
  readonly status: "SUCCESS" | "FAILURE" | "WARNING" | "INFO" | "SKIPPED"
  readonly errorMessage?: string
}

export type Suite = "0.1.16" | "0.2.0-alpha.12"

/** The packages export nothing; their command is found beside their manifest. */
const command = (name: string): string =>
  join(dirname(fileURLToPath(import.meta.resolve(`${name}/package.json`))), "dist/index.js")

const commands: Readonly<Record<Suite, string>> = {
  "0.1.16": command("@modelcontextprotocol/conformance"),
  "0.2.0-alpha.12": command("conformance-alpha"),
}

export interface Scenario {
  readonly suite: Suite
  readonly name: string
  /** Only the newer suite distinguishes. */
  readonly revision: string
}

const findChecks = async (folder: string): Promise<readonly Check[] | undefined> => {
  const file = (await readdir(folder, { recursive: true })).find((name) => name.endsWith("checks.json"))
  return file === undefined ? undefined : JSON.parse(await readFile(join(folder, file), "utf8"))
}

/** Names of every server scenario that the suite has. */
export const listScenarios = async (suite: Suite): Promise<readonly string[]> => {
  const child = Bun.spawn([process.execPath, commands[suite], "list", "--server"], {
    stdout: "pipe",
    stderr: "ignore",
    env: { PATH: dirname(process.execPath) },
  })
  const text = await new Response(child.stdout).text()
  await child.exited
  return [...text.matchAll(/^ +- (\S+) \[/gm)].map((match) => match[1] ?? "")
}

export const runScenario = async (scenario: Scenario, url: string): Promise<readonly Check[]> => {
  const folder = await mkdtemp(join(tmpdir(), "conformance-"))
  try {
    const options = scenario.suite === "0.1.16" ? [] : ["--spec-version", scenario.revision]
    const child = Bun.spawn(
      [
        process.execPath,
        commands[scenario.suite],
        "server",
        "--url",
        url,
        "--scenario",
        scenario.name,
        "-o",
        folder,
        ...options,
      ],
      { cwd: folder, stdout: "pipe", stderr: "pipe", env: { PATH: dirname(process.execPath), HOME: folder } },
    )
    const [out, err] = await Promise.all([
      new Response(child.stdout).text(),
      new Response(child.stderr).text(),
    ])
    await child.exited
    const checks = await findChecks(folder)
    if (checks === undefined) throw new Error(`${scenario.name} left no checks\n${out}\n${err}`)
    return checks
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}
