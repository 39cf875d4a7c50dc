/**
 * `HelmrClient`: the public API for programs outside of Computers. It has the authority of its key and no other, keeps no
 * connection open but those of streams that are read, and needs no closing.
 */
import { type Agents, createAgents } from "./agents.ts"
import { type Computers, createComputers } from "./computers.ts"
import { createDeployments, type Deployments } from "./deployments.ts"
import { connectionOf, type HelmrClientOptions } from "./options.ts"
import { systemPorts } from "./ports.ts"
import { createSessions, type Sessions } from "./sessions.ts"
import { createTemplates, type Templates } from "./templates.ts"
import { createTransport } from "./transport/transport.ts"

export class HelmrClient {
  readonly deployments: Deployments
  readonly agents: Agents
  readonly templates: Templates
  readonly computers: Computers
  readonly sessions: Sessions

  /** Throws `invalid_arguments` naming the option that cannot be right. */
  constructor(options: HelmrClientOptions) {
    const transport = createTransport(connectionOf(options), systemPorts(options.fetch))
    this.deployments = createDeployments(transport)
    this.agents = createAgents(transport)
    this.templates = createTemplates(transport)
    this.computers = createComputers(transport)
    this.sessions = createSessions(transport)
  }
}
