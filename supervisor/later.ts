/** Two ways of putting parts together in time. */

/** A part that is made after those which call it. */
export class Later<Part> {
  readonly #name: string
  #part: Part | undefined

  constructor(name: string) {
    this.#name = name
  }

  set(part: Part): Part {
    this.#part = part
    return part
  }

  /** Unset: not made yet. */
  peek(): Part | undefined {
    return this.#part
  }

  get(): Part {
    if (this.#part === undefined) throw new Error(`${this.#name} was called before it was made`)
    return this.#part
  }
}

/** The first call does it; every other one gets its result. */
export const once = <Arguments extends readonly unknown[], Value>(
  work: (...args: Arguments) => Promise<Value>,
): ((...args: Arguments) => Promise<Value>) => {
  let result: Promise<Value> | undefined
  return (...args) => {
    result ??= work(...args)
    return result
  }
}
