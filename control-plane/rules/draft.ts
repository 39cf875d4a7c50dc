/**
 * One decision in the making: the state as it would be, and the list of what changed. Nothing leaves it before the
 * decision is complete, so a refused one changes nothing. Long because it has one short method for each thing that a rule
 * may read or write, and nothing else.
 */
import type { Content } from "@computerd/protocol/content"
import type { ComputerId, EnvironmentKey, SessionId, StoreId, TurnId } from "@computerd/protocol/ids"
import type { LinkCommand } from "@computerd/protocol/link"
import type { Changes, Command, Notice } from "./changes.ts"
import {
  type Computer,
  type Deployment,
  type Hold,
  isSettled,
  type Message,
  type Question,
  type QuestionAnswer,
  type Receipt,
  type Session,
  type Turn,
  type TurnPayload,
} from "./entities.ts"
import { type ListQuery, Rows } from "./rows.ts"
import { everything, type State } from "./state.ts"

export class Draft {
  readonly state: State
  readonly #computers = new Rows<Computer>()
  readonly #sessions = new Rows<Session>()
  readonly #turns = new Rows<Turn>()
  readonly #holds = new Rows<Hold>()
  readonly #questions = new Rows<Question>()
  readonly #inputs = new Map<TurnId, Content>()
  readonly #payloads = new Map<TurnId, TurnPayload>()
  readonly #questionTexts = new Map<string, Content>()
  readonly #messages: Message[] = []
  readonly #answers: QuestionAnswer[] = []
  readonly #receipts: Receipt[] = []
  readonly #deployments: Deployment[] = []
  readonly #cursors: Changes["cursors"][number][] = []
  readonly #voidCommands: ComputerId[] = []
  #commands: Command[] = []
  readonly #notices: Notice[] = []
  /** Sessions and Computers whose consequences are not yet worked out; see progress.ts. */
  readonly #dirtySessions = new Set<SessionId>()
  readonly #dirtyComputers = new Set<ComputerId>()
  readonly #crowded = new Set<EnvironmentKey>()
  readonly #reassigned = new Set<SessionId>()

  constructor(state: State) {
    this.state = state
  }

  computer(id: ComputerId): Computer | undefined {
    return this.#computers.get(id, this.state.computer)
  }

  session(id: SessionId): Session | undefined {
    return this.#sessions.get(id, this.state.session)
  }

  turn(id: TurnId): Turn | undefined {
    return this.#turns.get(id, this.state.turn)
  }

  unsettled(session: SessionId, limit: number): readonly Turn[] {
    return this.#turns.list({
      name: session,
      load: (count) => (this.#sessions.isNew(session) ? [] : this.state.unsettled(session, count)),
      belongs: (turn) => turn.sessionId === session && !isSettled(turn),
      limit,
    })
  }

  openChildren(parent: SessionId, limit: number): readonly Session[] {
    return this.#sessions.list({
      name: parent,
      load: (count) => (this.#sessions.isNew(parent) ? [] : this.state.openChildren(parent, count)),
      belongs: (session) => session.parentId === parent && session.status !== "closed",
      limit,
    })
  }

  openSessionsOn(computer: ComputerId, limit: number): readonly Session[] {
    return this.#sessions.list({
      name: computer,
      load: (count) => (this.#computers.isNew(computer) ? [] : this.state.openSessionsOn(computer, count)),
      belongs: (session) => session.computerId === computer && session.status !== "closed",
      limit,
    })
  }

  input(turn: TurnId): Content {
    return this.#inputs.get(turn) ?? this.state.input(turn)
  }

  hold(id: Hold["id"]): Hold | undefined {
    return this.#holds.get(id, this.state.hold)
  }

  /** Own and unreleased. */
  holds(session: SessionId): readonly Hold[] {
    return this.#holds.list({
      name: session,
      load: () => (this.#sessions.isNew(session) ? [] : this.state.holds(session)),
      belongs: (hold) => hold.sessionId === session && hold.releasedAt === null,
      limit: everything,
    })
  }

  openQuestions(session: SessionId): readonly Question[] {
    return this.#questions.list({
      name: session,
      load: () => this.state.openQuestions(session),
      belongs: (question) => question.sessionId === session && question.status === "open",
      limit: everything,
    })
  }

  /** Computers by what the caller looks for, as they are now. */
  computersOf(query: ListQuery<Computer>): readonly Computer[] {
    return this.#computers.list(query)
  }

  /** Computers that this decision has touched: no list that it asks for is longer by more than these. */
  get writtenComputers(): number {
    return this.#computers.writtenCount
  }

  addDeployment(deployment: Deployment): void {
    this.#deployments.push(deployment)
  }

  addComputer(computer: Computer): void {
    this.#computers.add(computer)
    this.#dirtyComputers.add(computer.id)
  }

  putComputer(computer: Computer): void {
    this.#computers.put(computer)
  }

  addSession(session: Session): void {
    this.#sessions.add(session)
    this.touch(session.id)
    this.#dirtyComputers.add(session.computerId)
  }

  putSession(session: Session): void {
    this.#sessions.put(session)
    this.touch(session.id)
  }

  addTurn(turn: Turn, input: Content): void {
    this.#turns.add(turn)
    this.#inputs.set(turn.id, input)
    this.#dirtySessions.add(turn.sessionId)
  }

  putTurn(turn: Turn, payload?: TurnPayload): void {
    this.#turns.put(turn)
    if (payload !== undefined) this.#payloads.set(turn.id, payload)
    this.#dirtySessions.add(turn.sessionId)
  }

  addHold(hold: Hold): void {
    this.#holds.add(hold)
    this.#dirtySessions.add(hold.sessionId)
  }

  putHold(hold: Hold): void {
    this.#holds.put(hold)
    this.#dirtySessions.add(hold.sessionId)
  }

  addQuestion(question: Question, text: Content): void {
    this.#questions.add(question)
    this.#questionTexts.set(question.id, text)
  }

  putQuestion(question: Question): void {
    this.#questions.put(question)
  }

  /** Sends it to the Turn that asked; it is kept until that is known to have come through. */
  sendAnswer(computerId: ComputerId, question: Question, content: Content): void {
    const commandSeq = this.command(computerId, {
      type: "answer",
      sessionId: question.sessionId,
      turnId: question.turnId,
      requestId: question.requestId,
      result: { ok: true, value: { questionId: question.id, answer: [...content] } },
    })
    this.#answers.push({ question, content, commandSeq })
  }

  addMessage(message: Message): void {
    this.#messages.push(message)
  }

  addReceipt(receipt: Receipt): void {
    this.#receipts.push(receipt)
  }

  moveCursor(computerId: ComputerId, storeId: StoreId, received: number): void {
    this.#cursors.push({ computerId, storeId, received })
  }

  notice(notice: Notice): void {
    this.#notices.push(notice)
  }

  /** What an attaching supervisor is told in full makes all that was pending for it void. */
  voidCommands(computerId: ComputerId): void {
    this.#voidCommands.push(computerId)
    this.#commands = this.#commands.filter((command) => command.computerId !== computerId)
  }

  /**
   * Numbers a command. Without an attached supervisor nothing is stored: the answer to its next attach holds
   * everything, and what it has applied is still told by numbers.
   */
  command(computerId: ComputerId, body: LinkCommand): number {
    const computer = this.computer(computerId)
    if (computer === undefined) return 0
    const seq = computer.commandSeq + 1
    this.putComputer({ ...computer, commandSeq: seq })
    if (computer.attached) this.#commands.push({ computerId, seq, body })
    return seq
  }

  /** The Session's assignment has changed: its Computer is told when the consequences are worked out. */
  reassign(id: SessionId): void {
    this.#reassigned.add(id)
    this.touch(id)
  }

  takeReassigned(id: SessionId): boolean {
    return this.#reassigned.delete(id)
  }

  touch(id: SessionId): void {
    this.#dirtySessions.add(id)
  }

  touchComputer(id: ComputerId): void {
    this.#dirtyComputers.add(id)
  }

  /** Room of this Environment may be given out anew. */
  crowd(environment: EnvironmentKey): void {
    this.#crowded.add(environment)
  }

  takeCrowded(): EnvironmentKey | undefined {
    const [environment] = this.#crowded
    if (environment !== undefined) this.#crowded.delete(environment)
    return environment
  }

  takeDirtySession(): SessionId | undefined {
    const [id] = this.#dirtySessions
    if (id !== undefined) this.#dirtySessions.delete(id)
    return id
  }

  takeDirtyComputer(): ComputerId | undefined {
    const [id] = this.#dirtyComputers
    if (id !== undefined) this.#dirtyComputers.delete(id)
    return id
  }

  changes(): Changes {
    return {
      deployments: this.#deployments,
      computers: this.#computers.written(),
      sessions: this.#sessions.written(),
      turns: this.#turns.written(),
      inputs: this.#inputs,
      payloads: this.#payloads,
      holds: this.#holds.written(),
      messages: this.#messages,
      answers: this.#answers,
      questions: this.#questions.written(),
      questionTexts: this.#questionTexts,
      receipts: this.#receipts,
      cursors: this.#cursors,
      voidCommands: this.#voidCommands,
      commands: this.#commands,
      notices: this.#notices,
    }
  }
}
