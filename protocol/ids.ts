/**
 * Branded identities. Each is a UUIDv7 with the prefix of its kind, so that a wrong kind is seen at a glance
 * and ids of one kind sort by creation time.
 */
import { z } from "zod"

const uuid = "[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}"

const id = <const Prefix extends string, const Brand extends string>(prefix: Prefix, brand: Brand) =>
  z
    .string()
    .regex(new RegExp(`^${prefix}_${uuid}$`), `must be a ${brand}: ${prefix}_ and a UUIDv7`)
    .brand<Brand>()

export const DeploymentId = id("dep", "DeploymentId")
export type DeploymentId = z.infer<typeof DeploymentId>
export const ComputerId = id("cmp", "ComputerId")
export type ComputerId = z.infer<typeof ComputerId>
export const SessionId = id("ses", "SessionId")
export type SessionId = z.infer<typeof SessionId>
export const TurnId = id("trn", "TurnId")
export type TurnId = z.infer<typeof TurnId>
export const MessageId = id("msg", "MessageId")
export type MessageId = z.infer<typeof MessageId>
export const HoldId = id("hld", "HoldId")
export type HoldId = z.infer<typeof HoldId>
/** One accepted control (interrupt, resume): the `id` of its receipt. */
export const ControlId = id("ctl", "ControlId")
export type ControlId = z.infer<typeof ControlId>
export const QuestionId = id("qst", "QuestionId")
export type QuestionId = z.infer<typeof QuestionId>
/** One request on a link that has a response; unique per connection peer. */
export const RequestId = id("req", "RequestId")
export type RequestId = z.infer<typeof RequestId>
/** One supervisor store file; a new file has a new id, which tells the control plane that counters restarted. */
export const StoreId = id("str", "StoreId")
export type StoreId = z.infer<typeof StoreId>

export const ApiKeyId = id("key", "ApiKeyId")
export type ApiKeyId = z.infer<typeof ApiKeyId>

/** Environment names are chosen by people. */
export const EnvironmentKey = z
  .string()
  .regex(/^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/, "must be 1-63 of a-z, 0-9 and inner '-'")
  .brand<"EnvironmentKey">()
export type EnvironmentKey = z.infer<typeof EnvironmentKey>

/** Agent and Template ids as authors write them. */
export const DefinitionKey = z
  .string()
  .regex(
    /^[a-zA-Z0-9](?:[a-zA-Z0-9._-]{0,126}[a-zA-Z0-9])?$/,
    "must be 1-128 of letters, digits and inner . _ -",
  )
export type DefinitionKey = z.infer<typeof DefinitionKey>

/** Grows by one each time a Session's process is rebuilt; the first process is 1. */
export const Generation = z.int().min(1).brand<"Generation">()
export type Generation = z.infer<typeof Generation>

/** Fences supervisors of one Computer: a frame with an older epoch is refused. The first grant is 1. */
export const Epoch = z.int().min(1).brand<"Epoch">()
export type Epoch = z.infer<typeof Epoch>

/** Lower-case hex SHA-256. */
export const Digest = z
  .string()
  .regex(/^[0-9a-f]{64}$/, "must be a lower-case hex SHA-256")
  .brand<"Digest">()
export type Digest = z.infer<typeof Digest>

export interface IdKinds {
  readonly dep: DeploymentId
  readonly cmp: ComputerId
  readonly ses: SessionId
  readonly trn: TurnId
  readonly msg: MessageId
  readonly hld: HoldId
  readonly ctl: ControlId
  readonly qst: QuestionId
  readonly req: RequestId
  readonly str: StoreId
  readonly key: ApiKeyId
}

const brand: { readonly [Kind in keyof IdKinds]: (text: string) => IdKinds[Kind] } = {
  dep: (text) => DeploymentId.parse(text),
  cmp: (text) => ComputerId.parse(text),
  ses: (text) => SessionId.parse(text),
  trn: (text) => TurnId.parse(text),
  msg: (text) => MessageId.parse(text),
  hld: (text) => HoldId.parse(text),
  ctl: (text) => ControlId.parse(text),
  qst: (text) => QuestionId.parse(text),
  req: (text) => RequestId.parse(text),
  str: (text) => StoreId.parse(text),
  key: (text) => ApiKeyId.parse(text),
}

export type NewId = <Kind extends keyof IdKinds>(kind: Kind) => IdKinds[Kind]

/** `uuid` yields a lower-case UUIDv7; tests pass a seeded one. */
export const idSource =
  (uuid: () => string): NewId =>
  (kind) =>
    brand[kind](`${kind}_${uuid()}`)
