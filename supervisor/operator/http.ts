/**
 * The operator interface: HTTP on a Unix socket of mode 0600 in the state directory. It only reads. Whoever opens it
 * holds the lock of the state directory, so a socket that is already there was left by a dead supervisor.
 */
import { chmodSync, rmSync } from "node:fs"
import { join } from "node:path"
import { fail, failure, ok, type Result } from "@computerd/protocol/errors"
import { operatorSocketName, type Status, statusPath } from "@computerd/protocol/operator"
import { Elysia } from "elysia"
import { socketAddress } from "./socket.ts"

export interface OperatorServer {
  readonly socketPath: string
  readonly close: () => Promise<void>
}

export interface OperatorDeps {
  readonly stateDirectory: string
  /** `undefined` while the supervisor is still being put together. */
  readonly status: () => Status | undefined
  /** Attached, with the lease held. */
  readonly ready: () => boolean
  /** A request failed here, for a reason that its sender is not told. */
  readonly fault: (message: string) => void
}

const starting = failure("store_unavailable", "the supervisor is starting; ask again in a moment")

const routes = ({ status, ready, fault }: OperatorDeps) =>
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

const listen = (path: string, deps: OperatorDeps): OperatorServer => {
  const address = socketAddress(path)
  try {
    rmSync(path, { force: true })
    const app = routes(deps)
    const server = Bun.serve({
      unix: address.path,
      development: false,
      fetch: (request) => app.handle(request),
    })
    chmodSync(path, 0o600)
    return {
      socketPath: path,
      close: async () => {
        await server.stop(true)
        rmSync(path, { force: true })
      },
    }
  } finally {
    address.release()
  }
}

export const openOperatorServer = (deps: OperatorDeps): Result<OperatorServer> => {
  const path = join(deps.stateDirectory, operatorSocketName)
  try {
    return ok(listen(path, deps))
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error)
    return fail(
      "invalid_configuration",
      `the operator socket ${path} cannot be opened: ${reason}`,
      "stateDirectory",
    )
  }
}
