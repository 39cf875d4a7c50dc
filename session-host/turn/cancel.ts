/** The cancel listeners of one Turn: run in order once it is told to stop, late ones at once. */
export type CancelListener = () => unknown

export class CancelListeners {
  readonly #run: (listener: CancelListener) => Promise<void>
  readonly #waiting: CancelListener[] = []
  readonly #running = new Set<Promise<void>>()
  #hasBegun = false

  /** `run` never rejects: it reports what a listener throws. */
  constructor(run: (listener: CancelListener) => Promise<void>) {
    this.#run = run
  }

  add(listener: CancelListener): void {
    if (this.#hasBegun) this.#start(listener)
    else this.#waiting.push(listener)
  }

  begin(): void {
    this.#hasBegun = true
    for (const listener of this.#waiting.splice(0)) this.#start(listener)
  }

  /** Resolves when none of them runs, those included that were added meanwhile. */
  async ended(): Promise<void> {
    while (this.#running.size > 0) await Promise.all(this.#running)
  }

  #start(listener: CancelListener): void {
    const work = this.#run(listener).finally(() => this.#running.delete(work))
    this.#running.add(work)
  }
}
