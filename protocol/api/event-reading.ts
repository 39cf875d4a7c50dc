/**
 * Events as a reader takes them. A newer control plane may tell of what an older reader does not know; such an event is
 * passed over, while one of a known type in a wrong form is an error.
 */
import type { z } from "zod"
import { ok, type Result } from "../errors.ts"
import { type Issue, judge } from "../judge.ts"
import { EventBody, EventPage, EventPlace, eventRoutes, SessionEvent } from "./events.ts"
import type { Route } from "./route.ts"

const AnyEvent = EventPlace.loose()
export type AnyEvent = Readonly<z.infer<typeof AnyEvent>>

const knownTypes: ReadonlySet<unknown> = new Set(
  EventBody.options.flatMap((option): readonly unknown[] => [...option.shape.type.values]),
)

/** `undefined`: of a type that is not known here. */
export const readEvent = (event: AnyEvent): Result<SessionEvent | undefined, Issue> =>
  knownTypes.has(event["type"]) ? judge(SessionEvent, event) : ok(undefined)

export const readPlace = (value: unknown): Result<AnyEvent, Issue> => judge(AnyEvent, value)

/** The route that reads a page, with events of every type. */
export const readPageRoute = {
  ...eventRoutes.list,
  answer: { kind: "json", status: 200, schema: EventPage.extend({ events: AnyEvent.array() }) },
} as const satisfies Route
