import { afterAll, beforeAll, expect, test } from "bun:test"
import { type Listener, openListener, token } from "../runtime-mcp/endpoint/listener.ts"
import { type LoopbackProxy, openProxy } from "./proxy.ts"
import { type Check, listScenarios, runScenario, type Scenario, type Suite } from "./run.ts"

/** Checks that this server does not pass, each with its reason in `docs/conformance.md`. Anything else must succeed. */
const exceptions: Readonly<Record<string, readonly string[]>> = {
  "server-sse-multiple-streams 2025-11-25": ["server-sse-multiple-streams-session"],
  "server-stateless 2026-07-28": [
    "sep-2575-server-rejects-undeclared-capability",
    "sep-2575-missing-capability-http-400",
    "sep-2575-http-server-no-independent-requests-on-stream",
    "sep-2575-server-no-log-without-loglevel",
  ],
  "caching 2026-07-28": [
    "sep-2549-prompts-list-caching-hints",
    "sep-2549-resources-list-caching-hints",
    "sep-2549-resources-templates-list-caching-hints",
  ],
}

const applied: readonly (readonly [Suite, revision: string, names: readonly string[]])[] = [
  [
    "0.1.16",
    "2025-11-25",
    [
      "server-initialize",
      "ping",
      "tools-list",
      "dns-rebinding-protection",
      "tools-call-simple-text",
      "tools-call-error",
    ],
  ],
  [
    "0.2.0-alpha.12",
    "2025-11-25",
    [
      "server-initialize",
      "server-session-lifecycle",
      "ping",
      "tools-list",
      "dns-rebinding-protection",
      "tools-call-simple-text",
      "tools-call-error",
      "server-sse-multiple-streams",
    ],
  ],
  [
    "0.2.0-alpha.12",
    "2026-07-28",
    [
      "tools-list",
      "dns-rebinding-protection",
      "tools-call-simple-text",
      "tools-call-error",
      "server-stateless",
      "http-header-validation",
      "caching",
      "server-sse-multiple-streams",
      "input-required-result-unsupported-methods",
    ],
  ],
]

const scenarios: readonly Scenario[] = applied.flatMap(([suite, revision, names]) =>
  names.map((name) => ({ suite, revision, name })),
)

/** Each scenario is a process of its own; a few at once keep the cores busy and the machine usable. */
const atOnce = 3

let listener: Listener
let proxy: LoopbackProxy
const outcomes = new Map(scenarios.map((scenario) => [scenario, Promise.withResolvers<readonly Check[]>()]))
let running: Promise<unknown>

beforeAll(async () => {
  listener = openListener()
  proxy = await openProxy({ port: listener.endpoint.port, authorization: token })
  const left = [...outcomes]
  // A scenario that fails to run is reported by its own test, which may come to it later.
  for (const { promise } of outcomes.values()) promise.catch(() => undefined)
  const lane = async (): Promise<void> => {
    for (let next = left.shift(); next !== undefined; next = left.shift()) {
      const [scenario, { resolve, reject }] = next
      await runScenario(scenario, proxy.url).then(resolve, reject)
    }
  }
  running = Promise.all(Array.from({ length: atOnce }, lane))
})
afterAll(async () => {
  await running
  await proxy.close()
  await listener.endpoint.close("exited")
})

const unsuccessful = (checks: readonly Check[]): readonly string[] =>
  checks.filter(({ status }) => status === "FAILURE" || status === "WARNING").map(({ id }) => id)

for (const scenario of scenarios) {
  const { suite, revision, name } = scenario
  test(`R30 conformance ${suite} at ${revision}: ${name}`, async () => {
    const checks = (await outcomes.get(scenario)?.promise) ?? []
    expect(checks.length).toBeGreaterThan(0)
    expect(unsuccessful(checks)).toEqual([...(exceptions[`${name} ${revision}`] ?? [])])
  }, 60_000)
}

test("every server scenario of both suites is accounted for in docs/conformance.md", async () => {
  const text = await Bun.file(new URL("../../docs/conformance.md", import.meta.url)).text()
  const suites = ["0.1.16", "0.2.0-alpha.12"] as const
  const listed = new Set((await Promise.all(suites.map(listScenarios))).flat())
  expect(listed.size).toBeGreaterThan(40)
  expect([...listed].filter((name) => !text.includes(`\`${name}\``))).toEqual([])
  for (const ids of Object.values(exceptions)) for (const id of ids) expect(text).toContain(`\`${id}\``)
}, 60_000)
