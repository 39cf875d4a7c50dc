/**
 * The operator interface: HTTP on a Unix socket of mode 0600 in the state directory. It only reads. Whoever opens it
 * holds the lock of the state directory, so a socket that is already there was left by a dead supervisor.
 */
import { chmodSync, rmSync } from "node:fs"
import { join } from "node:path"
import { fail, ok, type Result } from "@computerd/protocol/errors"
import { operatorSocketName } from "@computerd/protocol/operator"
import type { createRoutes, OperatorFacts } from "./routes.ts"
import { socketAddress } from "./socket.ts"

export interface OperatorServer {
  readonly socketPath: string
  readonly close: () => Promise<void>
}

export interface OperatorDeps extends OperatorFacts {
  readonly stateDirectory: string
}

/** Loaded when somebody asks: the routes' framework is a third of a supervisor's start, and most are never asked. */
const answerer = (facts: OperatorFacts): ((request: Request) => Promise<Response>) => {
  let app: Promise<ReturnType<typeof createRoutes>> | undefined
  return async (request) => {
    app ??= import("./routes.ts").then((routes) => routes.createRoutes(facts))
    return (await app).handle(request)
  }
}

const listen = (path: string, deps: OperatorDeps): OperatorServer => {
  const address = socketAddress(path)
  try {
    rmSync(path, { force: true })
    const server = Bun.serve({
      unix: address.path,
      development: false,
      fetch: answerer(deps),
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
