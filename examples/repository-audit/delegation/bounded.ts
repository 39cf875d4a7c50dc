/** Runs one task for each item, at most `limit` at a time, and keeps the order of the items. */
export const bounded = async <Item, Value>(
  items: readonly Item[],
  limit: number,
  run: (item: Item) => Promise<Value>,
): Promise<readonly Value[]> => {
  const waiting = items.entries()
  const values: Value[] = []
  const worker = async (): Promise<void> => {
    for (const [place, item] of waiting) values[place] = await run(item)
  }
  await Promise.all(Array.from({ length: Math.min(limit, items.length) }, worker))
  return values
}
