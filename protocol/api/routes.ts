/** Every route of the public API. */
import { agentRoutes } from "./agents.ts"
import { computerRoutes } from "./computers.ts"
import { deploymentRoutes } from "./deployments.ts"
import { eventRoutes } from "./events.ts"
import { questionRoutes } from "./questions.ts"
import type { Route } from "./route.ts"
import { sessionRoutes } from "./sessions.ts"
import { templateRoutes } from "./templates.ts"
import { turnRoutes } from "./turns.ts"

export const api = {
  deployments: deploymentRoutes,
  agents: agentRoutes,
  templates: templateRoutes,
  computers: computerRoutes,
  sessions: sessionRoutes,
  turns: turnRoutes,
  questions: questionRoutes,
  events: eventRoutes,
}

export const allRoutes: readonly Route[] = Object.values(api).flatMap((routes): readonly Route[] =>
  Object.values(routes),
)

/** Where the description of all this is served, to anybody. */
export const openApiPath = "/v1/openapi.json"
