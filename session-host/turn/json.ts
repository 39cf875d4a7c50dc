/**
 * What JSON can hold, decided strictly: a value passes when writing it as JSON and reading it back gives the same
 * value. So `null`, booleans, finite numbers, strings, dense arrays and plain objects of these pass, and what JSON
 * would change or leave out is refused: `NaN` and infinities, `BigInt`, symbols, functions, dates, maps, sets, typed
 * arrays and other class instances, array holes and `undefined` in arrays, extra properties of arrays, properties
 * named by symbols or `__proto__`, cycles, and nesting deeper than `depthMax`. Two things are taken as what they read back as: a
 * property whose value is `undefined` is absent, and `-0` is `0`.
 *
 * The result is a copy, so that later changes by the program reach nobody. Pure but for the program's own getters.
 */
import type { Json } from "@computerd/protocol/content"

export type Strict =
  | { readonly kind: "ok"; readonly value: Json }
  /** `path` locates the value inside what was given: `rows[3].at`; empty for the whole. */
  | { readonly kind: "not_json"; readonly path: string; readonly what: string }
  | { readonly kind: "too_large"; readonly maxBytes: number }

/** Every reader on the way recurses; this is far below what any of them can take. */
const depthMax = 128
const pathMaxLength = 256

class Refused extends Error {
  readonly strict: Exclude<Strict, { kind: "ok" }>

  constructor(strict: Exclude<Strict, { kind: "ok" }>) {
    super(strict.kind)
    this.strict = strict
  }
}

const named = (value: object): string => {
  const maker: unknown = Reflect.get(value, "constructor")
  return typeof maker === "function" && maker.name !== "" ? `a ${maker.name}` : "a class instance"
}

/** One copy in progress: where it is and how many bytes it has spent at least. */
class Copier {
  readonly #maxBytes: number
  readonly #ancestors: object[] = []
  readonly #steps: string[] = []
  #bytes = 0

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes
  }

  copy(value: unknown): Json {
    switch (typeof value) {
      case "string":
        this.#spend(value.length)
        return value
      case "number":
        this.#spend(1)
        // Adding 0 makes 0 of -0.
        return Number.isFinite(value) ? value + 0 : this.#refuse(String(value))
      case "boolean":
        this.#spend(4)
        return value
      case "object":
        return value === null ? null : this.#structure(value)
      case "bigint":
        return this.#refuse("a BigInt")
      default:
        return this.#refuse(typeof value === "undefined" ? "undefined" : `a ${typeof value}`)
    }
  }

  #refuse(what: string): never {
    const path = this.#steps.join("").replace(/^\./, "").slice(0, pathMaxLength)
    throw new Refused({ kind: "not_json", path, what })
  }

  /** A huge value is refused before it is copied whole. */
  #spend(bytes: number): void {
    this.#bytes += bytes
    if (this.#bytes > this.#maxBytes) throw new Refused({ kind: "too_large", maxBytes: this.#maxBytes })
  }

  #structure(value: object): Json {
    if (this.#ancestors.includes(value)) return this.#refuse("a cycle")
    if (this.#ancestors.length >= depthMax) return this.#refuse(`nesting deeper than ${depthMax}`)
    this.#spend(1)
    this.#ancestors.push(value)
    const copied = Array.isArray(value) ? this.#list(value) : this.#record(value)
    this.#ancestors.pop()
    return copied
  }

  #list(value: readonly unknown[]): Json {
    this.#spend(value.length)
    if (Reflect.ownKeys(value).length !== value.length + 1)
      return this.#refuse("an array with holes or extra properties")
    return value.map((item, index) => this.#child(item, `[${index}]`))
  }

  #record(value: object): Json {
    const prototype: unknown = Object.getPrototypeOf(value)
    if (prototype !== Object.prototype && prototype !== null) return this.#refuse(named(value))
    const result: Record<string, Json> = {}
    for (const key of Reflect.ownKeys(value)) {
      if (typeof key === "symbol") return this.#refuse("an object with a symbol as a key")
      if (key === "__proto__") return this.#refuse("an object with a property named __proto__")
      const item: unknown = Reflect.get(value, key)
      if (item === undefined || !Object.prototype.propertyIsEnumerable.call(value, key)) continue
      this.#spend(key.length + 4)
      result[key] = this.#child(item, `.${key}`)
    }
    return result
  }

  #child(item: unknown, step: string): Json {
    this.#steps.push(step)
    const copied = this.copy(item)
    this.#steps.pop()
    return copied
  }
}

export const strictJson = (value: unknown, maxBytes: number): Strict => {
  try {
    const copied = new Copier(maxBytes).copy(value)
    const bytes = Buffer.byteLength(JSON.stringify(copied))
    return bytes > maxBytes ? { kind: "too_large", maxBytes } : { kind: "ok", value: copied }
  } catch (error) {
    if (error instanceof Refused) return error.strict
    return { kind: "not_json", path: "", what: "a property that throws when it is read" }
  }
}

/** `a BigInt at rows[3].count` */
export const notJsonText = (problem: { readonly path: string; readonly what: string }): string =>
  problem.path === "" ? problem.what : `${problem.what} at ${problem.path}`
