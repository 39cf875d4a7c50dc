/** Does one verb of `computerd fleet`; answers the exit code, or why it could not begin. */
import type { Failure } from "@computerd/protocol/errors"
import type { HelmrClient } from "@helmr/sdk"
import type { FleetWork } from "../arguments/fleet/command.ts"
import { writeOut } from "../output.ts"
import { oneLine } from "../view/text.ts"
import { type Asked, answer } from "./answer.ts"
import type { FleetDeps } from "./deps.ts"
import { enqueue, followSession, start, wait } from "./give-work.ts"
import { type Gathered, gather } from "./pages.ts"
import {
  agentRows,
  computerRows,
  deploymentRows,
  questionRows,
  sessionDetail,
  sessionRows,
  templateRows,
} from "./rows.ts"
import { textOf } from "./text.ts"

type Exit = number | Failure

const listed = async <Row>(
  { rows, more }: Gathered<Row>,
  how: { readonly name: string; readonly text: (rows: readonly Row[]) => string; readonly json: boolean },
  deps: FleetDeps,
): Promise<number> => {
  const exitCode = await answer({ text: how.text(rows), value: { [how.name]: rows, more } }, how.json, deps)
  if (more && !how.json) await writeOut(deps.err, "computerd: there are more; --limit N shows them\n")
  return exitCode
}

const turnsShown = 20

const showSession = async (client: HelmrClient, sessionId: string, json: boolean, deps: FleetDeps) => {
  const session = await client.sessions.get(sessionId)
  const { turns, nextCursor } = await session.turns.list({ limit: turnsShown })
  const more = nextCursor !== undefined
  const value = { session, turns, more }
  const exitCode = await answer({ text: sessionDetail(session, turns), value }, json, deps)
  if (more && !json)
    await writeOut(deps.err, `computerd: there are more Turns; the newest ${turnsShown} are shown\n`)
  return exitCode
}

const deploy = async (
  client: HelmrClient,
  { work, json }: Asked<Extract<FleetWork, { readonly verb: "deploy" }>>,
  deps: FleetDeps,
) => {
  const { directory, gitignore, idempotencyKey } = work
  const published = await client.deployments.publish({ directory, gitignore }, { idempotencyKey })
  if (!json)
    for (const notice of published.notices) await writeOut(deps.err, `computerd: ${oneLine(notice)}\n`)
  return answer({ text: `${published.deploymentId}\n`, value: published }, json, deps)
}

const definitions = async (
  client: HelmrClient,
  { work, json }: Asked<Extract<FleetWork, { readonly verb: "agents" | "templates" }>>,
  deps: FleetDeps,
) => {
  const { verb, limit, deploymentId } = work
  if (verb === "agents") {
    const read = (asked: object) => client.agents.list({ ...asked, deploymentId })
    const found = await gather(limit, read, ({ agents }) => agents)
    return listed(found, { name: verb, text: agentRows, json }, deps)
  }
  const read = (asked: object) => client.templates.list({ ...asked, deploymentId })
  const found = await gather(limit, read, ({ templates }) => templates)
  return listed(found, { name: verb, text: templateRows, json }, deps)
}

export const perform = async (client: HelmrClient, asked: Asked, deps: FleetDeps): Promise<Exit> => {
  const { work, json } = asked
  switch (work.verb) {
    case "deploy":
      return deploy(client, { work, json }, deps)
    case "deployments": {
      const found = await gather(work.limit, client.deployments.list, ({ deployments }) => deployments)
      return listed(found, { name: "deployments", text: deploymentRows, json }, deps)
    }
    case "agents":
    case "templates":
      return definitions(client, { work, json }, deps)
    case "start":
      return start(client, { work, json }, deps)
    case "enqueue":
      return enqueue(client, { work, json }, deps)
    case "wait":
      return wait(client, { work, json }, deps)
    case "follow":
      return followSession(client, { work, json }, deps)
    case "sessions": {
      const { verb, limit, ...filters } = work
      const read = (page: object) => client.sessions.list({ ...filters, ...page })
      const found = await gather(limit, read, ({ sessions }) => sessions)
      return listed(found, { name: verb, text: sessionRows, json }, deps)
    }
    case "session":
      return showSession(client, work.sessionId, json, deps)
    case "send": {
      const { sessionId, turnId, message, idempotencyKey } = work
      const text = await textOf(message, deps)
      if (!text.ok) return text.error
      const sent = await client.sessions.handle(sessionId).send(turnId, text.value, { idempotencyKey })
      return answer({ text: `${sent.id}\n`, value: sent }, json, deps)
    }
    case "interrupt": {
      const { sessionId, turnId, idempotencyKey } = work
      const session = client.sessions.handle(sessionId)
      const target = turnId === undefined ? session : session.turn(turnId)
      const accepted = await target.interrupt({ idempotencyKey })
      const { holdId } = accepted
      return answer(
        { text: holdId === undefined ? "accepted\n" : `${holdId}\n`, value: accepted },
        json,
        deps,
      )
    }
    case "resume": {
      const { sessionId, holdId, idempotencyKey } = work
      const accepted = await client.sessions.handle(sessionId).resume(holdId, { idempotencyKey })
      return answer({ text: "accepted\n", value: accepted }, json, deps)
    }
    case "close":
    case "cancel": {
      const { sessionId, verb, idempotencyKey } = work
      const ending = await client.sessions.handle(sessionId)[verb]({ idempotencyKey })
      return answer({ text: `${ending.status}\n`, value: ending }, json, deps)
    }
    case "questions": {
      const { questions } = await client.sessions.handle(work.sessionId).questions.list()
      return answer({ text: questionRows(questions), value: { questions } }, json, deps)
    }
    case "answer": {
      const { sessionId, questionId, idempotencyKey } = work
      const text = await textOf(work.text, deps)
      if (!text.ok) return text.error
      const { questions } = client.sessions.handle(sessionId)
      const answered = await questions.answer(questionId, text.value, { idempotencyKey })
      return answer({ text: `${answered.status}\n`, value: answered }, json, deps)
    }
    case "computers": {
      const { verb, limit, status } = work
      const read = (page: object) => client.computers.list({ ...page, status })
      const found = await gather(limit, read, ({ computers }) => computers)
      return listed(found, { name: verb, text: computerRows, json }, deps)
    }
    case "computers create": {
      const { template, key, idempotencyKey } = work
      const created = await client.computers.create(template, { key, idempotencyKey })
      return answer({ text: `${created.computerId}\n`, value: created }, json, deps)
    }
    case "computers delete": {
      const { computerId, idempotencyKey } = work
      const deleted = await client.computers.delete(computerId, { idempotencyKey })
      return answer({ text: `${deleted.status}\n`, value: deleted }, json, deps)
    }
  }
}
