/**
 * What must be true of every schedule, seen from outside both ends.
 *
 * T1 what the control plane applies of a store is what that store holds as history, each event once and in order
 * T2 a supervisor applies commands once and in order, and under one number the control plane has one command
 * T3 nothing is accepted under an epoch that is over
 * T4 of two supervisors of one Computer never both believe that they hold its lease
 * T5 an admitted key has one receipt and one effect, and whoever asks gets the same answer
 * T6 a mutation goes to the control plane once for each call that a client made
 */
import type { Database } from "bun:sqlite"
import type { Receiver } from "@computerd/control-plane/receiver/receiver"
import type { Store } from "@computerd/control-plane/store/open"
import type { ComputerId, StoreId } from "@computerd/protocol/ids"
import type { AdmissionAnswer, LinkCommand, LinkEvent } from "@computerd/protocol/link"
import { findTool } from "@computerd/runtime-mcp/tools/catalogue"

/** A rule was broken. */
export class Violation extends Error {}

interface StoreHistory {
  readonly applied: string[]
  /** What precedes the rows that the store holds now, beginning with its row `skip`. */
  prefix: readonly string[]
  skip: number
  /** A power cut took rows back; how many of them arrived is known at the next attach. */
  lost: { readonly full: readonly string[]; readonly kept: number; readonly rows: number } | undefined
}

const cursorOf = (database: Database): number =>
  database.query<{ received: number }, []>("SELECT received FROM sim_cursor").get()?.received ?? 0

export class Truth {
  readonly #stores = new Map<string, StoreHistory>()
  readonly #commands = new Map<number, string>()
  /** Answers by key; a refusal is no answer for good. */
  readonly answers = new Map<string, string>()
  readonly calls = new Map<string, number>()
  readonly arrived = new Map<string, number>()
  /** The first rule that was broken: product code may catch what is thrown within it. */
  violation: Violation | undefined

  check(rule: string, holds: boolean, what: () => string): void {
    if (!holds) this.violation ??= new Violation(`${rule}: ${what()}`)
  }

  /** T1 */
  eventApplied(storeId: string, event: LinkEvent): void {
    this.#storeOf(storeId).applied.push(JSON.stringify(event))
  }

  powerCut(storeId: string, before: readonly string[], kept: number): void {
    const history = this.#storeOf(storeId)
    if (history.lost !== undefined) return
    const { prefix, skip } = history
    const full = [...prefix, ...before.slice(skip)]
    history.lost = { full, kept: prefix.length + Math.max(0, kept - skip), rows: kept }
  }

  /** From here on nothing of the store's earlier life can arrive. */
  attached(storeId: string): void {
    const history = this.#storeOf(storeId)
    const { lost, applied } = history
    if (lost === undefined) return
    this.#compare(storeId, applied, lost.full)
    history.prefix = lost.full.slice(0, Math.max(applied.length, lost.kept))
    history.skip = lost.rows
    history.lost = undefined
  }

  /** Compares with the rows that the store holds; `whole`: nothing may be missing. */
  compareEvents(storeId: string, rows: readonly string[], whole: boolean): void {
    const { applied, prefix, skip, lost } = this.#storeOf(storeId)
    if (lost !== undefined) return
    const expected = [...prefix, ...rows.slice(skip)]
    this.#compare(storeId, applied, expected)
    if (whole)
      this.check(
        "T1",
        applied.length === expected.length,
        () => `store ${storeId}: ${expected[applied.length]} never arrived`,
      )
  }

  /** T2 */
  commandSent(seq: number, body: LinkCommand): void {
    const text = JSON.stringify(body)
    const known = this.#commands.get(seq)
    this.check(
      "T2",
      known === undefined || known === text,
      () => `command ${seq} was ${known} and is ${text}`,
    )
    this.#commands.set(seq, text)
  }

  /** T2; `undefined`: the whole desired state was taken over under this number. Inside the supervisor's transaction. */
  commandApplied(at: {
    readonly database: Database
    readonly seq: number
    readonly command: LinkCommand | undefined
  }): void {
    const { database, seq, command } = at
    if (command !== undefined) {
      const before = cursorOf(database)
      this.check("T2", seq === before + 1, () => `command ${seq} was applied after ${before}`)
      this.check(
        "T2",
        this.#commands.get(seq) === JSON.stringify(command),
        () => `command ${seq} was applied as ${JSON.stringify(command)} and is ${this.#commands.get(seq)}`,
      )
    }
    database.run("UPDATE sim_cursor SET received = ?", [seq])
  }

  /** T2: what a supervisor says that it has applied, it has. */
  cursorTold(database: Database, seq: number): void {
    const applied = cursorOf(database)
    this.check("T2", seq === applied, () => `the supervisor told ${seq} and had applied ${applied}`)
  }

  /** T3 */
  accepted(what: string, epoch: number, current: number): void {
    this.check("T3", epoch === current, () => `${what} of epoch ${epoch} was accepted under epoch ${current}`)
  }

  /** T6 */
  called(key: string): void {
    this.calls.set(key, (this.calls.get(key) ?? 0) + 1)
  }

  mutationArrived(key: string): void {
    const arrived = (this.arrived.get(key) ?? 0) + 1
    this.arrived.set(key, arrived)
    const calls = this.calls.get(key) ?? 0
    this.check("T6", arrived <= calls, () => `${key} was sent ${arrived} times for ${calls} calls`)
  }

  /** T5 */
  answered(key: string, answer: AdmissionAnswer): void {
    if (!answer.ok) return
    const text = JSON.stringify(answer.value)
    const known = this.answers.get(key)
    this.check("T5", known === undefined || known === text, () => `${key} got ${known} and then ${text}`)
    this.answers.set(key, text)
  }

  #compare(storeId: string, applied: readonly string[], expected: readonly string[]): void {
    const at = applied.findIndex((event, index) => event !== expected[index])
    this.check(
      "T1",
      at === -1,
      () => `store ${storeId}, event ${at + 1}: ${applied[at]} was applied where ${expected[at]} was written`,
    )
  }

  #storeOf(storeId: string): StoreHistory {
    const known = this.#stores.get(storeId)
    if (known !== undefined) return known
    const made: StoreHistory = { applied: [], prefix: [], skip: 0, lost: undefined }
    this.#stores.set(storeId, made)
    return made
  }
}

interface Owner {
  readonly epoch: number
  readonly storeId: StoreId | null
}

export interface WatchDeps {
  readonly store: Store
  readonly database: Database
  readonly truth: Truth
  /** What a dead process still does has no effect. */
  readonly isAlive: () => boolean
}

/** The same receiver, with everything that it accepts told to the truth. */
export const watched = (receiver: Receiver, { store, database, truth, isAlive }: WatchDeps): Receiver => {
  const moves = database.query<{ count: number }, []>("SELECT count FROM sim_cursor_moves")
  const ownerOf = (computerId: ComputerId): Owner => {
    const computer = store.state.computer(computerId)
    return { epoch: computer?.epoch ?? 0, storeId: computer?.storeId ?? null }
  }

  return {
    ...receiver,
    attach: (computerId, frame) => {
      const granted = receiver.attach(computerId, frame)
      if (granted.ok) truth.attached(frame.storeId)
      return granted
    },
    renew: (computerId, epoch) => {
      const renewed = receiver.renew(computerId, epoch)
      if (renewed.ok) truth.accepted("a renewal", epoch, ownerOf(computerId).epoch)
      return renewed
    },
    event: (computerId, epoch, seq, atMs, event) => {
      const { storeId, epoch: current } = ownerOf(computerId)
      const before = moves.get()?.count
      try {
        return receiver.event(computerId, epoch, seq, atMs, event)
      } finally {
        // Whatever became of the process, what is committed is applied.
        if (storeId !== null && moves.get()?.count !== before) {
          truth.accepted(event.type, epoch, current)
          truth.eventApplied(storeId, event)
        }
      }
    },
    admit: async (computerId, epoch, request, signal) => {
      const { epoch: current } = ownerOf(computerId)
      const { idempotencyKey: key } = request.arguments
      const isMutation = findTool(request.tool)?.mutating === true
      if (isMutation && typeof key === "string" && epoch === current) truth.mutationArrived(key)
      const answer = await receiver.admit(computerId, epoch, request, signal)
      if (answer.ok && isAlive()) truth.accepted(request.tool, epoch, current)
      return answer
    },
    commandsAfter: (computerId, seq) => {
      const commands = receiver.commandsAfter(computerId, seq)
      if (isAlive()) for (const command of commands) truth.commandSent(command.seq, command.body)
      return commands
    },
  }
}
