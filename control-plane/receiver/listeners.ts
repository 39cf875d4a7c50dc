/** Subscribers to one kind of news. One that throws is reported and does not keep the others from hearing. */
import type { Journal } from "../journal.ts"

export interface Listeners<News> {
  readonly subscribe: (listener: (news: News) => void) => () => void
  readonly tell: (news: News) => void
  readonly clear: () => void
}

export const createListeners = <News>(name: string, journal: Journal): Listeners<News> => {
  const listeners = new Set<(news: News) => void>()
  const tellOne = (listener: (news: News) => void, news: News): void => {
    try {
      listener(news)
    } catch (error) {
      const message = error instanceof Error ? error.message : String(error)
      journal.record({ type: "task_failed", task: `${name} listener`, message })
    }
  }
  return {
    subscribe: (listener) => {
      const own = (news: News): void => listener(news)
      listeners.add(own)
      return () => {
        listeners.delete(own)
      }
    },
    tell: (news) => {
      for (const listener of listeners) tellOne(listener, news)
    },
    clear: () => listeners.clear(),
  }
}
