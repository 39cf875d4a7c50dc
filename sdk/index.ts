/**
 * `@helmr/sdk`: what the authors of agent programs write against, and the client of the public API. It is bundled into
 * every program; what a program does not use of it is left out, so no module here does anything when it is loaded.
 */
export { type Agent, type AgentSpec, agent, type JsonCompatible } from "./agent.ts"
export type { AgentPage, Agents, DeployedAgent, PinOptions, Started, StartOptions } from "./client/agents.ts"
export type { Program } from "./client/archive/program.ts"
export { HelmrClient } from "./client/client.ts"
export type {
  Computer,
  ComputerPage,
  ComputerStatus,
  Computers,
  CreateComputerOptions,
  CreatedComputer,
  DeletedComputer,
  ListComputersOptions,
} from "./client/computers.ts"
export type { ContentInput } from "./client/content.ts"
export type { Deployment, DeploymentPage, Deployments, PublishedDeployment } from "./client/deployments.ts"
export { type ConnectionTrouble, HelmrApiError, HelmrConnectionError } from "./client/errors.ts"
export type { Events, ListEventsOptions, StreamEventsOptions } from "./client/events/events.ts"
export type { EventBody, EventPage, EventPlace, HoldKind, SessionEvent } from "./client/events/types.ts"
export type { CallOptions, HelmrClientOptions, MutationOptions } from "./client/options.ts"
export type { PageOptions } from "./client/paging.ts"
export type { Fetch } from "./client/ports.ts"
export type { AnsweredQuestion, Question, Questions } from "./client/questions.ts"
export type { EndingSession, SessionHandle } from "./client/session.ts"
export type {
  ListSessionsOptions,
  Session,
  SessionHold,
  SessionPage,
  SessionRecord,
  SessionStatus,
  Sessions,
} from "./client/sessions.ts"
export type {
  DeployedTemplate,
  ResolvedImageStep,
  ResolvedNetwork,
  TemplatePage,
  Templates,
} from "./client/templates.ts"
export type {
  AcceptedControl,
  AcceptedMessage,
  Outcome,
  TurnError,
  TurnHandle,
  TurnPage,
  TurnPayload,
  TurnRecord,
  Turns,
  WaitedTurn,
  WaitOptions,
} from "./client/turns.ts"
export type { AgentContext, InitContext, Recovery, SessionInfo } from "./context.ts"
export { type ErrorCode, HelmrError } from "./error.ts"
export { type Image, type ImageStep, image } from "./image.ts"
export type {
  RuntimeMcp,
  RuntimeMcpConnectionOptions,
  RuntimeMcpPolicy,
  RuntimeMcpRule,
} from "./mcp.ts"
export { type DirectoryOptions, type DirectorySource, source } from "./source.ts"
export {
  type AllowedDomain,
  type NetworkPolicy,
  type PrepareContext,
  type Template,
  type TemplateSecret,
  type TemplateSpec,
  template,
} from "./template.ts"
export type { Content, Json, TextPart, Turn, TurnMessage, TurnOutput, TurnSource } from "./turn.ts"
export type { ByteSize, Duration } from "./units.ts"
