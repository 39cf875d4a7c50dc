/**
 * Publishes the program beside this file, starts a Session, follows it, gives it more work and finishes it. Node 20 or Bun.
 *
 *   HELMR_URL=http://127.0.0.1:7080 HELMR_API_KEY=hlm_… node run.mjs "to be or not to be"
 */
import { fileURLToPath } from "node:url"
import { HelmrClient } from "@helmr/sdk"

const [input = "to be or not to be\nthat is the question"] = process.argv.slice(2)
const { HELMR_URL: baseUrl, HELMR_API_KEY: apiKey } = process.env
if (baseUrl === undefined || apiKey === undefined) {
  console.error("run.mjs: set HELMR_URL and HELMR_API_KEY; `computerd fleet keys create` makes a key")
  process.exit(2)
}

const client = new HelmrClient({ baseUrl, apiKey })

/** Ends with the Session. */
const follow = async (session) => {
  for await (const event of session.events.stream()) {
    if (event.type === "turn_output") process.stdout.write(event.text)
    else console.log(`# ${event.type}`)
  }
}

const outcomeOf = async (turn) => {
  const waited = await turn.wait({ timeoutMs: 120_000 })
  if (waited.status === "timeout") throw new Error("the Turn has not settled within two minutes")
  const { status, error, response = [] } = waited.outcome
  if (status !== "completed") throw new Error(`the Turn is ${status}: ${error?.code} ${error?.message ?? ""}`)
  return response.map(({ text }) => text).join("")
}

const directory = fileURLToPath(new URL("program", import.meta.url))
const { deploymentId } = await client.deployments.publish({ directory })
console.log(`# published ${deploymentId}`)

const { session, turn } = await client.agents.start("clerk", { input })
const following = follow(session)
const first = await outcomeOf(turn)
const second = await outcomeOf(await session.enqueue("one more line"))
await session.close()
await following
console.log(first)
console.log(second)
