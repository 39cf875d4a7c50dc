/** Publication, clients, operators and drivers: each call is one decision. */
import { CodedError, ok, type Result } from "@computerd/protocol/errors"
import { AdmittedTurn } from "@computerd/runtime-mcp/tools/views"
import { startFromOutside } from "../rules/client.ts"
import { confirmDeleted, loseComputer, reportState } from "../rules/computers.ts"
import { controlFromOutside } from "../rules/operator.ts"
import type { Parts } from "./parts.ts"
import type { Receiver, StartedSession } from "./receiver.ts"
import { sameText, sha256Hex } from "./seals.ts"
import { computerRows } from "./snapshot.ts"

export const publication = ({
  store,
  ports,
  commits,
}: Parts): Pick<Receiver, "addDeployment" | "deployment" | "currentDeployment"> => ({
  addDeployment: (environment, manifest) => {
    const id = ports.newId("dep")
    const added = commits.now("publish", (draft, given) => {
      draft.addDeployment({ id, environment, manifest, createdAt: given.now })
      return ok(undefined)
    })
    if (!added.ok) throw new CodedError(added.error)
    return { deploymentId: id }
  },
  deployment: (id) => store.state.deployment(id)?.manifest,
  currentDeployment: store.state.currentDeployment,
})

export const outside = ({ commits }: Parts): Pick<Receiver, "startSession" | "control"> => ({
  startSession: (request): Result<StartedSession> => {
    const started = commits.now("start", (draft, given) => startFromOutside(draft, request, given))
    return started.ok ? ok(AdmittedTurn.parse(started.value.answer)) : started
  },
  control: (request) => commits.now("control", (draft, given) => controlFromOutside(draft, request, given)),
})

type ComputerCalls = Pick<
  Receiver,
  | "computersToRun"
  | "computers"
  | "registerCredential"
  | "authenticate"
  | "computerState"
  | "computerDeleted"
  | "computerLost"
>

export const computers = ({ store, commits, ports }: Parts): ComputerCalls => ({
  computersToRun: () => computerRows(store).filter((row) => row.desired === "running"),
  computers: () => computerRows(store),
  registerCredential: (computerId, digest) => {
    store.transaction(() => store.tables.links.putCredential(computerId, digest))
    ports.reach("credential.registered")
  },
  authenticate: (credential) => {
    const digest = sha256Hex(credential)
    const owner = store.tables.links.credentialOwner(digest)
    return owner !== undefined && sameText(owner.digest, digest) ? owner.computerId : undefined
  },
  computerState: (computerId, residency, reason) =>
    commits.persist("computer", (draft, given) =>
      ok(reportState(draft, { computerId, residency, reason }, given)),
    ),
  computerDeleted: (computerId) =>
    commits.persist("computer", (draft, given) => ok(confirmDeleted(draft, computerId, given))),
  computerLost: (computerId, reason) =>
    commits.persist("computer", (draft, given) => ok(loseComputer(draft, { computerId, reason }, given))),
})
