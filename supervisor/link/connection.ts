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
import type { Attached, AttemptEffect } from "./attempt.ts"
import { type Attempt, dial } from "./dial.ts"
import type { LinkDeps } from "./link.ts"
import type { AttemptOutcome } from "./outcome.ts"
import { createPump, type Pump } from "./pump.ts"
import { createRenewal, type Renewal } from "./renewal.ts"

export interface Connection extends Pick<Attempt, "send" | "stop" | "ended"> {
  /** There are new events to send. */
  readonly pump: () => void
}

/** What exists from `attached` on. */
interface Tasks {
  readonly pump: Pump
  readonly renewal: Renewal
}

export interface ConnectionOptions {
  readonly deps: LinkDeps
  readonly url: string
  readonly credential: string
  /** The desired state is taken over and the lease is held. */
  readonly attached: () => void
}

export const createConnection = ({ deps, url, credential, attached }: ConnectionOptions): Connection => {
  const { ports, store, lease, leases, outbox, sessions, requests, journal } = deps
  let tasks: Tasks | undefined
  let attachAskedAtMs = 0

  const attachFrame = (): LinkUpFrame => {
    attachAskedAtMs = ports.clock.monotonicMs()
    return {
      kind: "attach",
      protocol: linkProtocol,
      computerId: deps.computerId,
      bootId: deps.bootId,
      storeId: store.id,
      lastEpoch: leases.epoch(),
      received: leases.received(),
      version: deps.version,
      processes: [...sessions.living()],
    }
  }

  const startTasks = (frame: Attached): Tasks => {
    const pump = createPump({
      outbox,
      received: frame.received,
      inbound: leases.received,
      bufferedBytes: attempt.bufferedBytes,
      send: attempt.send,
    })
    const { send, overdue } = attempt
    return { pump, renewal: createRenewal({ ports, renewMs: frame.lease.renewMs, send, overdue }) }
  }

  const adopt = (frame: Attached): void => {
    store.synced(() => {
      // Before the steps that the desired state leads to: they need the lease.
      store.afterCommit(() => lease.grant(frame.lease, attachAskedAtMs))
      leases.setEpoch(frame.lease.epoch)
      leases.setReceived(frame.commandSeq)
      outbox.align(frame.received)
      sessions.reconcile(frame.run)
    })
    journal.record({
      event: "link_attached",
      epoch: frame.lease.epoch,
      sessions: frame.run.length,
      pending: outbox.unacknowledged(),
    })
    tasks = startTasks(frame)
    attached()
    requests.attached()
    tasks.pump.run()
  }

  const apply = (seq: number, command: LinkCommand): void =>
    store.transaction(() => {
      leases.setReceived(seq)
      sessions.apply(command)
    })

  const forget = (ack: number): void => {
    outbox.acknowledge(ack)
    tasks?.pump.acknowledged(ack)
  }

  const renew = (requestId: RequestId, grant: Grant): void => {
    const askedAtMs = tasks?.renewal.answered(requestId, grant)
    if (askedAtMs !== undefined) lease.grant(grant, askedAtMs)
  }

  const perform = (effect: Exclude<AttemptEffect, { do: "send_attach" | "send_ack" | "end" }>): void => {
    switch (effect.do) {
      case "adopt":
        adopt(effect.attached)
        break
      case "apply":
        apply(effect.seq, effect.command)
        break
      case "forget_events":
        forget(effect.ack)
        break
      case "renew":
        renew(effect.requestId, effect.lease)
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

  const attempt = dial({ url, credential, timers: ports.timers, handlers: { attach: attachFrame, perform } })

  const end = async (): Promise<AttemptOutcome> => {
    const outcome = await attempt.ended
    tasks?.renewal.stop()
    if (tasks !== undefined) requests.lost()
    tasks = undefined
    return outcome
  }

  return {
    send: attempt.send,
    stop: attempt.stop,
    ended: end(),
    pump: () => tasks?.pump.run(),
  }
}
