/** Sessions: start, read, work, controls. */
import { questionRoutes } from "@computerd/protocol/api/questions"
import { sessionRoutes } from "@computerd/protocol/api/sessions"
import { type ApiParts, reading, type Served, writing } from "../call.ts"
import { bounded } from "./page.ts"

const controls = ({ receiver, settings }: ApiParts): readonly Served[] => {
  const { mutate } = receiver.outside
  return [
    writing(sessionRoutes.interrupt, settings, ({ holder, params, body }) =>
      mutate.interrupt(holder.environment, { ...params, ...body }),
    ),
    writing(sessionRoutes.resume, settings, ({ holder, params, body }) =>
      mutate.resume(holder.environment, { ...params, ...body }),
    ),
    writing(sessionRoutes.close, settings, ({ holder, params, body }) =>
      mutate.close(holder.environment, { ...params, ...body }),
    ),
    writing(sessionRoutes.cancel, settings, ({ holder, params, body }) =>
      mutate.cancel(holder.environment, { ...params, ...body }),
    ),
  ]
}

export const sessionCalls = (parts: ApiParts): readonly Served[] => {
  const { receiver, settings } = parts
  const { read, mutate } = receiver.outside
  return [
    writing(sessionRoutes.start, settings, ({ holder, body }) => mutate.start(holder.environment, body)),
    reading(sessionRoutes.list, ({ holder, query }) =>
      read.sessions(holder.environment, bounded(query, settings)),
    ),
    reading(sessionRoutes.get, ({ holder, params }) => read.session(holder.environment, params.sessionId)),
    writing(sessionRoutes.enqueue, settings, ({ holder, params, body }) =>
      mutate.enqueue(holder.environment, { ...params, ...body }),
    ),
    writing(sessionRoutes.send, settings, ({ holder, params, body }) =>
      mutate.send(holder.environment, { ...params, ...body }),
    ),
    ...controls(parts),
    reading(questionRoutes.list, ({ holder, params }) =>
      read.questions(holder.environment, params.sessionId),
    ),
    writing(questionRoutes.answer, settings, ({ holder, params, body }) =>
      mutate.answer(holder.environment, { ...params, ...body }),
    ),
  ]
}
