/** Deployments and what they pin, as one Environment reads its own. */
import type { Agent, AgentPage } from "@computerd/protocol/api/agents"
import type { Deployment, DeploymentPage } from "@computerd/protocol/api/deployments"
import type { Template, TemplatePage } from "@computerd/protocol/api/templates"
import { ok, type Result } from "@computerd/protocol/errors"
import type { DeploymentId, EnvironmentKey } from "@computerd/protocol/ids"
import { missing } from "../../rules/outside/call.ts"
import { type ListCall, pageOf } from "../../rules/outside/listing.ts"
import { deploymentIn } from "../../rules/outside/reach.ts"
import { agentView, deploymentView, templateView } from "../../rules/outside/views.ts"
import type { Parts } from "../parts.ts"
import { looker, next, type PageAsked } from "./look.ts"

interface Pinned {
  readonly deploymentId?: DeploymentId | undefined
}

/** Definitions of one Deployment, by key. */
const definitions = <Row extends { readonly id: string }>(
  rows: readonly Row[],
  call: Omit<ListCall<Row>, "read" | "position">,
): ListCall<Row> => ({
  ...call,
  read: (after, limit) =>
    rows
      .toSorted((left, right) => (left.id < right.id ? -1 : 1))
      .filter(({ id }) => after === null || id > after)
      .slice(0, limit),
  position: ({ id }) => id,
})

export interface DefinitionReads {
  readonly deployments: (environment: EnvironmentKey, asked: PageAsked) => Result<DeploymentPage>
  /** Absent: the current one. */
  readonly deployment: (environment: EnvironmentKey, id?: DeploymentId) => Result<Deployment>
  readonly agents: (environment: EnvironmentKey, asked: PageAsked & Pinned) => Result<AgentPage>
  readonly agent: (environment: EnvironmentKey, key: string, pin: Pinned) => Result<Agent>
  readonly templates: (environment: EnvironmentKey, asked: PageAsked & Pinned) => Result<TemplatePage>
  readonly template: (environment: EnvironmentKey, key: string, pin: Pinned) => Result<Template>
}

export const definitionReads = (parts: Parts): DefinitionReads => {
  const look = looker(parts)
  const { deployments: table } = parts.store.tables
  return {
    deployments: (environment, { cursor, limit }) =>
      look(environment, ({ draft, given }) => {
        const found = pageOf(
          {
            environment,
            name: "deployments",
            filters: {},
            cursor,
            limit,
            read: (before, count) => table.page(environment, before, count),
            position: ({ id }) => id,
          },
          given,
        )
        if (!found.ok) return found
        const deployments = found.value.rows.map((row) => deploymentView(draft, row))
        return ok({ deployments, ...next(found.value) })
      }),
    deployment: (environment, id) =>
      look(environment, (where) => {
        const found = deploymentIn(where, id)
        return found.ok ? ok(deploymentView(where.draft, found.value)) : found
      }),
    agents: (environment, { deploymentId, cursor, limit }) =>
      look(environment, (where) => {
        const pin = deploymentIn(where, deploymentId)
        if (!pin.ok) return pin
        const { id, manifest } = pin.value
        const call = { environment, name: "agents", filters: { id }, cursor, limit }
        const found = pageOf(definitions(manifest.agents, call), where.given)
        if (!found.ok) return found
        const agents = found.value.rows.map((row) => agentView(pin.value, row))
        return ok({ deploymentId: id, agents, ...next(found.value) })
      }),
    agent: (environment, key, { deploymentId }) =>
      look(environment, (where) => {
        const pin = deploymentIn(where, deploymentId)
        if (!pin.ok) return pin
        const agent = pin.value.manifest.agents.find(({ id }) => id === key)
        return agent === undefined ? missing("Agent in this Deployment") : ok(agentView(pin.value, agent))
      }),
    templates: (environment, { deploymentId, cursor, limit }) =>
      look(environment, (where) => {
        const pin = deploymentIn(where, deploymentId)
        if (!pin.ok) return pin
        const { id, manifest } = pin.value
        const call = { environment, name: "templates", filters: { id }, cursor, limit }
        const found = pageOf(definitions(manifest.templates, call), where.given)
        if (!found.ok) return found
        const templates = found.value.rows.map((row) => templateView(pin.value, row))
        return ok({ deploymentId: id, templates, ...next(found.value) })
      }),
    template: (environment, key, { deploymentId }) =>
      look(environment, (where) => {
        const pin = deploymentIn(where, deploymentId)
        if (!pin.ok) return pin
        const template = pin.value.manifest.templates.find(({ id }) => id === key)
        return template === undefined
          ? missing("Template in this Deployment")
          : ok(templateView(pin.value, template))
      }),
  }
}
