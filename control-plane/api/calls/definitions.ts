/** Deployments, Agents and Templates; publication has a file of its own. */
import { agentRoutes } from "@computerd/protocol/api/agents"
import { deploymentRoutes } from "@computerd/protocol/api/deployments"
import { templateRoutes } from "@computerd/protocol/api/templates"
import { type ApiParts, reading, type Served } from "../call.ts"
import { bounded } from "./page.ts"

export const definitionCalls = ({ receiver, settings }: ApiParts): readonly Served[] => {
  const { read } = receiver.outside
  return [
    reading(deploymentRoutes.list, ({ holder, query }) =>
      read.deployments(holder.environment, bounded(query, settings)),
    ),
    reading(deploymentRoutes.current, ({ holder }) => read.deployment(holder.environment)),
    reading(deploymentRoutes.get, ({ holder, params }) =>
      read.deployment(holder.environment, params.deploymentId),
    ),
    reading(agentRoutes.list, ({ holder, query }) =>
      read.agents(holder.environment, bounded(query, settings)),
    ),
    reading(agentRoutes.get, ({ holder, params, query }) =>
      read.agent(holder.environment, params.agent, query),
    ),
    reading(templateRoutes.list, ({ holder, query }) =>
      read.templates(holder.environment, bounded(query, settings)),
    ),
    reading(templateRoutes.get, ({ holder, params, query }) =>
      read.template(holder.environment, params.template, query),
    ),
  ]
}
