/** Computers. */
import { computerRoutes } from "@computerd/protocol/api/computers"
import { type ApiParts, reading, type Served, writing } from "../call.ts"
import { bounded } from "./page.ts"

export const computerCalls = ({ receiver, settings }: ApiParts): readonly Served[] => {
  const { read, mutate } = receiver.outside
  return [
    writing(computerRoutes.create, settings, ({ holder, body }) =>
      mutate.createComputer(holder.environment, body),
    ),
    reading(computerRoutes.list, ({ holder, query }) =>
      read.computers(holder.environment, bounded(query, settings)),
    ),
    reading(computerRoutes.get, ({ holder, params }) => read.computer(holder.environment, params.computerId)),
    reading(computerRoutes.members, ({ holder, params, query }) =>
      read.members(holder.environment, params.computerId, bounded(query, settings)),
    ),
    reading(computerRoutes.delete, ({ holder, params, query }) =>
      mutate.deleteComputer(holder.environment, { ...params, ...query }),
    ),
  ]
}
