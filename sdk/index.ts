/** `@helmr/sdk`: what the authors of agent programs write against. It is bundled into every program, so it stays small. */
export { type Agent, type AgentSpec, agent, type JsonCompatible } from "./agent.ts"
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
