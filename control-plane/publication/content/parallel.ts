/** Bounded parallel work: the first failure stops further items, and nothing runs on after the promise settles. */
export const eachBounded = async <Item>(
  items: Iterable<Item>,
  limit: number,
  work: (item: Item) => Promise<void>,
): Promise<void> => {
  const iterator = items[Symbol.iterator]()
  const failures: unknown[] = []
  const lane = async (): Promise<void> => {
    for (let next = iterator.next(); next.done !== true && failures.length === 0; next = iterator.next()) {
      try {
        await work(next.value)
      } catch (error) {
        failures.push(error)
      }
    }
  }
  await Promise.all(Array.from({ length: limit }, lane))
  if (failures.length > 0) throw failures[0]
}
