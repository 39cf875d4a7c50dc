/**
 * One Turn, from its arrival to its settlement:
 *
 *   queued ──start──▶ running ──stop──▶ stopping ──handler ends──▶ settled
 *      └──stop──▶ settled   └──handler ends──▶ settled
 *
 * T1 it settles once, and only when neither its handler nor a cancel listener runs any more
 * T2 after a stop the outcome is that of the stop, whatever the handler does; a handler that ended first keeps its own
 * T3 what is tried after settlement rejects with `turn_settled`; messages that nobody took are reported by id
 */
import type { ChannelUp, TurnData } from "@computerd/protocol/channel"
import type { TurnOutcome } from "@computerd/protocol/content"
import type { Failure } from "@computerd/protocol/errors"
import type { MessageId, TurnId } from "@computerd/protocol/ids"
import type { Content, Turn, TurnMessage } from "@helmr/sdk"
import { HelmrError } from "@helmr/sdk/error"
import { CancelListeners } from "./cancel.ts"
import { failure } from "./failure.ts"
import { createInbox, type Message } from "./messages.ts"
import {
  endedOutcome,
  type HandlerEnd,
  type StopCause,
  stopFailure,
  stoppedOutcome,
  stronger,
} from "./outcome.ts"
import type { Output } from "./output.ts"
import { type Response, respond } from "./response.ts"

/** The Agent's handler; may throw at once. */
export type Handle = (turn: Turn) => unknown

export interface TurnDeps {
  readonly data: TurnData
  readonly send: (body: ChannelUp) => void
  readonly output: Output
  readonly ask: (turnId: TurnId, question: unknown) => Promise<Content>
  /** No answer will come to what this Turn asked. */
  readonly unask: (turnId: TurnId, why: Failure) => void
  /** An error of the program that belongs to no outcome. */
  readonly stray: (where: string, error: unknown) => void
}

type Phase =
  | { readonly kind: "queued" }
  | { readonly kind: "running" }
  | { readonly kind: "stopping"; readonly cause: StopCause }
  | { readonly kind: "settled" }

const settledFailure = failure("turn_settled", "This Turn has ended; use the context of the running one.")

export class TurnRun {
  readonly id: TurnId
  readonly #deps: TurnDeps
  readonly #abort = new AbortController()
  readonly #inbox = createInbox()
  readonly #cancel = new CancelListeners((listener) => this.#guarded("a cancel listener", listener))
  #phase: Phase = { kind: "queued" }
  #response: Response = { kind: "none" }

  constructor(deps: TurnDeps) {
    this.id = deps.data.id
    this.#deps = deps
  }

  /** Runs the handler and resolves at settlement; a Turn that was stopped before is settled already. */
  async start(handle: Handle): Promise<void> {
    if (this.#phase.kind !== "queued") return
    this.#phase = { kind: "running" }
    this.#deps.send({ type: "turn_started", turnId: this.id })
    const end = await this.#run(handle)
    await this.#cancel.ended()
    this.#settle(this.#outcome(end))
  }

  stop(cause: StopCause): void {
    switch (this.#phase.kind) {
      case "queued":
        this.#settle(stoppedOutcome(cause))
        return
      case "running":
        this.#beginStop(cause)
        return
      case "stopping":
        this.#phase = { kind: "stopping", cause: stronger(this.#phase.cause, cause) }
        return
      case "settled":
        return
      default:
        this.#phase satisfies never
    }
  }

  deliver(message: Message): void {
    if (this.#phase.kind === "settled" || !this.#inbox.deliver(message)) this.#dropped([message.id])
  }

  /** T2 */
  #outcome(end: HandlerEnd): TurnOutcome {
    return this.#phase.kind === "stopping"
      ? stoppedOutcome(this.#phase.cause)
      : endedOutcome(end, this.#response)
  }

  async #run(handle: Handle): Promise<HandlerEnd> {
    try {
      return { kind: "returned", value: await handle(this.#face()) }
    } catch (error) {
      return { kind: "threw", error }
    }
  }

  #beginStop(cause: StopCause): void {
    this.#phase = { kind: "stopping", cause }
    const why = stopFailure(cause)
    this.#abort.abort(new HelmrError(why))
    this.#cancel.begin()
    this.#deps.unask(this.id, why)
  }

  async #guarded(where: string, run: () => unknown): Promise<void> {
    try {
      await run()
    } catch (error) {
      this.#deps.stray(`${where} of ${this.id}`, error)
    }
  }

  /** T1 */
  #settle(outcome: TurnOutcome): void {
    this.#phase = { kind: "settled" }
    const left = this.#inbox.close()
    if (left.length > 0) this.#dropped(left)
    this.#deps.output.settle(this.id)
    this.#deps.unask(this.id, settledFailure)
    this.#deps.send({ type: "turn_settled", turnId: this.id, outcome })
  }

  #dropped(messageIds: readonly MessageId[]): void {
    this.#deps.send({ type: "messages_dropped", turnId: this.id, messageIds: [...messageIds] })
  }

  /** T3; `stopping` too where what is tried could no longer be part of the outcome. */
  #open(allowed: "running" | "unsettled"): void {
    if (this.#phase.kind === "settled") throw new HelmrError(settledFailure)
    if (this.#phase.kind === "stopping" && allowed === "running")
      throw new HelmrError(stopFailure(this.#phase.cause))
  }

  /** The Turn as its handler sees it. */
  #face(): Turn {
    const { id, sequence, createdAt, input, source } = this.#deps.data
    return Object.freeze<Turn>({
      id,
      sequence,
      createdAt,
      input,
      source,
      signal: this.#abort.signal,
      output: Object.freeze({ write: (text: string) => this.#write(text) }),
      onCancel: (listener) => this.#cancel.add(listener),
      onMessage: (listener) => this.#onMessage(listener),
      respond: (content) => this.#respond(content),
      ask: (question) => this.#ask(question),
    })
  }

  async #write(text: unknown): Promise<void> {
    this.#open("unsettled")
    if (typeof text !== "string")
      throw new HelmrError(failure("invalid_arguments", "output.write takes a string"))
    await this.#deps.output.write(this.id, text)
  }

  #onMessage(listener: (message: TurnMessage) => unknown): void {
    this.#open("unsettled")
    this.#inbox.listen((message) => {
      void this.#guarded("a message listener", () => listener(message))
    })
  }

  async #respond(content: unknown): Promise<void> {
    this.#open("running")
    const { response, error } = respond(this.#response, content)
    this.#response = response
    if (error !== undefined) throw error
  }

  async #ask(question: unknown): Promise<Content> {
    this.#open("running")
    return await this.#deps.ask(this.id, question)
  }
}
