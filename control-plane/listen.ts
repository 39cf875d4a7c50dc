/** Finds the port of the link: the one that was asked for, else the one that supervisors know, else a free one. */
import { fail, type Result } from "@computerd/protocol/errors"
import { candidatePorts, recallAddress, rememberAddress } from "./address.ts"
import { hasLivingSupervisors } from "./drivers/local/local.ts"
import { type LinkServer, type LinkServerDeps, serveLink } from "./link/server.ts"

export interface ListenRequest extends LinkServerDeps {
  readonly stateDirectory: string
}

const portsToTry = async (request: ListenRequest): Promise<readonly number[]> => {
  const { listen: asked, stateDirectory } = request
  if (asked.port !== 0) return [asked.port]
  const known = await recallAddress(stateDirectory)
  const fresh = await candidatePorts(stateDirectory)
  if (known?.hostname !== asked.hostname) return fresh
  // Living supervisors look for this address only.
  return (await hasLivingSupervisors(stateDirectory)) ? [known.port] : [known.port, ...fresh]
}

export const listen = async (request: ListenRequest): Promise<Result<LinkServer>> => {
  const { hostname } = request.listen
  let last = fail("invalid_configuration", "no port is free for the control plane's link", "listen.port")
  for (const port of await portsToTry(request)) {
    const served = serveLink({ ...request, listen: { hostname, port } })
    if (served.ok) {
      await rememberAddress(request.stateDirectory, { hostname, port: served.value.port })
      request.ports.reach("address.recorded")
      return served
    }
    last = served
  }
  return last
}
