/**
 * A listener's share of one turn of the event loop. All listeners of a supervisor live in one process; without a share, a
 * flood on one of them would stand in front of every request of the others. What exceeds the share waits for the next
 * turn, in order. An ordinary load never gets there.
 */

/** Enough that waiting costs a busy listener next to nothing, few enough that others hardly notice it. */
const requestsPerTurn = 4

export interface Turns {
  /** Runs `work` now, or in a later turn when this one's share is used up. */
  readonly run: (work: () => Response | Promise<Response>) => Response | Promise<Response>
}

interface Waiting {
  readonly work: () => Response | Promise<Response>
  readonly resolve: (response: Response | Promise<Response>) => void
  readonly reject: (error: unknown) => void
}

export const createTurns = (nextTurn: (run: () => void) => void): Turns => {
  let used = 0
  let waiting: Waiting[] = []

  const begin = ({ work, resolve, reject }: Waiting): void => {
    try {
      resolve(work())
    } catch (error) {
      reject(error)
    }
  }

  const turn = (): void => {
    const now = waiting.slice(0, requestsPerTurn)
    waiting = waiting.slice(requestsPerTurn)
    used = now.length
    if (used === requestsPerTurn) nextTurn(turn)
    for (const each of now) begin(each)
  }

  return {
    run: (work) => {
      used += 1
      // The end of a turn is asked for only once its share is used up: asking at each request would cost it a third.
      if (used === requestsPerTurn) nextTurn(turn)
      if (used <= requestsPerTurn) return work()
      return new Promise((resolve, reject) => waiting.push({ work, resolve, reject }))
    },
  }
}
