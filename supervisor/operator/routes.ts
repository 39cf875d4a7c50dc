/** What the operator interface answers. */
import { failure } from "@computerd/protocol/errors"
import { type Status, statusPath } from "@computerd/protocol/operator"
import { Elysia } from "elysia"

export interface OperatorFacts {
  /** `undefined` while the supervisor is still being put together. */
  readonly status: () => Status | undefined
  /** Attached, with the lease held. */
  readonly ready: () => boolean
  /** A request failed here, for a reason that its sender is not told. */
  readonly fault: (message: string) => void
}

const starting = failure("store_unavailable", "the supervisor is starting; ask again in a moment")

export const createRoutes = ({ status, ready, fault }: OperatorFacts) =>
  new Elysia()
    .onError(({ code, error, status: answer }) => {
      if (code === "NOT_FOUND") return answer(404, failure("not_found", `no such path; try ${statusPath}`))
      fault(error instanceof Error ? error.message : String(error))
      return answer(500, failure("internal", "the request failed; see the supervisor's log"))
    })
    .get(statusPath, ({ status: answer }) => status() ?? answer(503, starting))
    .get("/healthz", () => "ok\n")
    .get("/readyz", ({ status: answer }) =>
      ready() ? "ready\n" : answer(503, "not ready: the link to the control plane is not attached\n"),
    )
