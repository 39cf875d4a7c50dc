/** No dead token is accepted: whoever listens where a replaced process was told to look refuses its header, as unknown. */
import { type Entry, type FinalState, ofKind } from "./record.ts"

const unauthorized = 401

export const noDeadToken = (history: readonly Entry[], { receipts }: FinalState): readonly string[] =>
  ofKind(history, "probed").flatMap(({ session, instance, key, status }) => {
    const whose = `the header of the replaced process ${instance} of ${session}`
    if (receipts.some((receipt) => receipt.caller === session && receipt.key === key))
      return [`${whose} admitted ${key}`]
    return status === null || status === unauthorized ? [] : [`${whose} was answered with ${status}`]
  })
