/**
 * One connection to the control plane, from its dial to its end: what each effect of the attempt does to this
 * supervisor.
 *
 * LK1 the epoch and the desired state are durable before anything is done under them
 * LK2 a command and the cursor that says it was applied are one transaction (N2)
 */
import type { RequestId } from "@computerd/protocol/ids"
import {
  type Lease as Grant,
  type LinkCommand,
  type LinkUpFrame,
  linkProtocol,
} from "@computerd/protocol/link"
import type { Attached } from "./attempt.ts"
import { Attempt, type DelegatedEffect, type UnfencedFrame } from "./dial.ts"
import type { LinkDeps } from "./link.ts"
import type { AttemptOutcome } from "./outcome.ts"
import { createPump, type Pump } from "./pump.ts"
import { createRenewal, type Renewal } from "./renewal.ts"
import type { DialTarget } from "./transport.ts"

/** What exists from `attached` on. */
interface Tasks {
  readonly pump: Pump
  readonly renewal: Renewal
}

export interface ConnectionOptions {
  readonly deps: LinkDeps
  readonly target: DialTarget
  /** The desired state is taken over and the lease is held. */
  readonly attached: () => void
}

export class Connection {
  readonly ended: Promise<AttemptOutcome>
  readonly #options: ConnectionOptions
  readonly #deps: LinkDeps
  readonly #attempt: Attempt
  #tasks: Tasks | undefined
  #attachAskedAtMs = 0

  constructor(options: ConnectionOptions) {
    const { deps, target } = options
    this.#options = options
    this.#deps = deps
    const handlers = {
      attach: () => this.#attachFrame(),
      perform: (effect: DelegatedEffect) => this.#perform(effect),
    }
    const { transport, ports } = deps
    this.#attempt = new Attempt({ target, transport, timers: ports.timers, handlers })
    this.ended = this.#end()
  }

  send(frame: UnfencedFrame): boolean {
    return this.#attempt.send(frame)
  }

  /** There are new events to send. */
  pump(): void {
    this.#tasks?.pump.run()
  }

  /** This process has not run for a while: whether the peer is still there is to be seen. */
  probe(): void {
    this.#tasks?.renewal.probe()
  }

  stop(): void {
    this.#attempt.stop()
  }

  #attachFrame(): LinkUpFrame {
    const { ports, store, leases, sessions, computerId, bootId, version } = this.#deps
    this.#attachAskedAtMs = ports.clock.elapsedMs()
    return {
      kind: "attach",
      protocol: linkProtocol,
      computerId,
      bootId,
      storeId: store.id,
      lastEpoch: leases.epoch(),
      received: leases.received(),
      version,
      processes: [...sessions.living()],
    }
  }

  #perform(effect: DelegatedEffect): void {
    const { requests, journal } = this.#deps
    switch (effect.do) {
      case "adopt":
        this.#adopt(effect.attached)
        break
      case "apply":
        this.#apply(effect.seq, effect.command)
        break
      case "forget_events":
        this.#forgetEvents(effect.ack)
        this.#tasks?.pump.acknowledged(effect.ack)
        break
      case "renew":
        this.#renew(effect.requestId, effect.lease)
        break
      case "answer":
        requests.answered(effect.requestId, effect.answer)
        break
      case "receipt":
        requests.receipt(effect.requestId, effect.answer)
        break
      case "complain":
        journal.record({ event: "link_frame_invalid", message: effect.message })
        break
      case "note_complaint":
        journal.record({ event: "link_complaint", message: effect.message })
        break
    }
  }

  /** LK1 */
  #adopt(frame: Attached): void {
    const { store, lease, leases, outbox, sessions, journal, ports } = this.#deps
    const { epoch } = frame.lease
    store.synced(() => {
      // Before the steps that the desired state leads to: they need the lease.
      store.afterCommit(() => {
        ports.reach("attach.after_commit")
        lease.grant(frame.lease, this.#attachAskedAtMs)
        ports.reach("lease.after_grant")
      })
      leases.setEpoch(epoch)
      leases.setReceived(frame.commandSeq)
      outbox.align(frame.received)
      sessions.reconcile(frame.run)
      ports.reach("attach.before_commit")
    })
    const pending = outbox.unacknowledged()
    journal.record({ event: "link_attached", epoch, sessions: frame.run.length, pending })
    this.#begin(frame)
  }

  #begin(frame: Attached): void {
    const { outbox, leases, ports, requests } = this.#deps
    const attempt = this.#attempt
    const send = (unfenced: UnfencedFrame): boolean => attempt.send(unfenced)
    const pump = createPump({
      outbox,
      received: frame.received,
      inbound: leases.received,
      bufferedBytes: () => attempt.bufferedBytes(),
      send,
      reach: ports.reach,
    })
    const renewal = createRenewal({
      ports,
      renewMs: frame.lease.renewMs,
      send,
      overdue: (detail) => attempt.overdue(detail),
    })
    this.#tasks = { pump, renewal }
    this.#options.attached()
    requests.attached()
    pump.run()
  }

  /** LK2 */
  #apply(seq: number, command: LinkCommand): void {
    const { store, leases, sessions, ports } = this.#deps
    store.transaction(() => {
      store.afterCommit(() => ports.reach("command.after_commit"))
      leases.setReceived(seq)
      sessions.apply(command)
      ports.reach("command.before_commit")
    })
  }

  #forgetEvents(ack: number): void {
    const { outbox, ports } = this.#deps
    ports.reach("event.before_forgetting")
    outbox.acknowledge(ack)
    ports.reach("event.after_forgetting")
  }

  #renew(requestId: RequestId, grant: Grant): void {
    const askedAtMs = this.#tasks?.renewal.answered(requestId, grant)
    if (askedAtMs === undefined) return
    this.#deps.lease.grant(grant, askedAtMs)
    this.#deps.ports.reach("lease.after_renewal")
  }

  async #end(): Promise<AttemptOutcome> {
    const outcome = await this.#attempt.ended
    if (this.#tasks !== undefined) {
      this.#tasks.renewal.stop()
      this.#deps.requests.lost()
    }
    this.#tasks = undefined
    return outcome
  }
}
