/** Work that arrives in one turn of the event loop is performed together, a bounded number at a time. */
import type { Ports } from "../ports.ts"

export interface Group<Item> {
  readonly add: (item: Item) => void
  /** Performs now what was added. */
  readonly flush: () => void
}

export const createGroup = <Item>(
  ports: Pick<Ports, "soon">,
  options: { readonly max: number; readonly perform: (items: readonly Item[]) => void },
): Group<Item> => {
  const waiting: Item[] = []
  let gathering = false

  const gather = (): void => {
    if (gathering) return
    gathering = true
    ports.soon(flushSome)
  }

  const flushSome = (): void => {
    gathering = false
    if (waiting.length > 0) options.perform(waiting.splice(0, options.max))
    if (waiting.length > 0) gather()
  }

  return {
    add: (item) => {
      waiting.push(item)
      gather()
    },
    flush: () => {
      while (waiting.length > 0) options.perform(waiting.splice(0, options.max))
    },
  }
}
