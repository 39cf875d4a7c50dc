/**
 * The wire form of a scope: what a descriptor, an admission frame and a manifest carry. `runtime-mcp/policy`
 * makes and compares it; here is only its shape. Names stand apart from their schemas, so that types made of them alone,
 * such as those of the SDK, need no zod.
 */
import { z } from "zod"
import { DefinitionKey } from "./ids.ts"

export const creationOperations = ["spawn", "start"] as const
export const CreationOperation = z.enum(creationOperations)
export type CreationOperation = z.infer<typeof CreationOperation>

export const targetedOperations = [
  "enqueue",
  "send_turn",
  "interrupt_turn",
  "interrupt_session",
  "resume_session",
  "close_session",
  "cancel_session",
  "inspect_session",
  "inspect_turn",
] as const
export const TargetedOperation = z.enum(targetedOperations)
export type TargetedOperation = z.infer<typeof TargetedOperation>

export const placements = ["new", "caller"] as const
export const Placement = z.enum(placements)
export type Placement = z.infer<typeof Placement>

/** Everything a rule may name. `skills`, `list_agents`, `list_sessions` and `wait_turn` follow from others. */
export const RuleOperation = z.enum([
  ...CreationOperation.options,
  ...TargetedOperation.options,
  "list_computers",
])
export type RuleOperation = z.infer<typeof RuleOperation>

/** Canonical: `agents` sorted and distinct; one rule for each (operation, placement), in a fixed order. */
export const NormalRule = z.discriminatedUnion("operation", [
  z.strictObject({
    operation: z.literal("spawn"),
    agents: z.array(DefinitionKey).min(1),
    computer: Placement,
  }),
  z.strictObject({
    operation: z.literal("start"),
    agents: z.array(DefinitionKey).min(1),
    computer: Placement,
  }),
  ...TargetedOperation.options.map((operation) =>
    z.strictObject({ operation: z.literal(operation), agents: z.array(DefinitionKey).min(1) }),
  ),
  z.strictObject({ operation: z.literal("list_computers") }),
])
export type NormalRule =
  | {
      readonly operation: CreationOperation
      readonly agents: readonly string[]
      readonly computer: Placement
    }
  | { readonly operation: TargetedOperation; readonly agents: readonly string[] }
  | { readonly operation: "list_computers" }

/** `unrestricted` is carried by test manifests only; nothing publishes it and no getter can ask for it. */
export const Scope = z.discriminatedUnion("kind", [
  z.strictObject({ kind: z.literal("finite"), allow: z.array(NormalRule) }),
  z.strictObject({ kind: z.literal("unrestricted") }),
])
export type Scope =
  | { readonly kind: "finite"; readonly allow: readonly NormalRule[] }
  | { readonly kind: "unrestricted" }
