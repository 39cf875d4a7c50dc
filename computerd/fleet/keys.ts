/** `computerd fleet keys`: over the control plane's own socket, which its owner alone can open. */
import { open } from "node:fs/promises"
import { operatorClient } from "@computerd/control-plane/http/client"
import type { ApiKey } from "@computerd/protocol/api/keys"
import { fail, ok, type Result } from "@computerd/protocol/errors"
import { ApiKeyId, EnvironmentKey } from "@computerd/protocol/ids"
import { judge } from "@computerd/protocol/judge"
import type { FleetCommand, KeyWork } from "../arguments/fleet/command.ts"
import { failureLine } from "../failure.ts"
import { writeOut } from "../output.ts"
import type { FleetDeps } from "./deps.ts"
import { exitFailure } from "./failure.ts"
import { table } from "./table.ts"

type KeysCommand = Extract<FleetCommand, { readonly verb: "fleet keys" }>
type Creation = Extract<KeyWork, { readonly verb: "create" }>

interface Said {
  readonly out: string
  readonly err: string
}

const keyRows = (keys: readonly ApiKey[]): string =>
  table(
    ["KEY", "NAME", "ENVIRONMENT", "PERMISSIONS", "CREATED", "LAST USED", "REVOKED"],
    keys.map((key) => [
      key.id,
      key.name,
      key.environment,
      key.permissions.join(","),
      key.createdAt,
      key.lastUsedAt,
      key.revokedAt,
    ]),
    "No keys.",
  )

const reasonOf = (error: unknown): string =>
  error instanceof Error && "code" in error ? String(error.code) : "unknown reason"

/** Before the key is made: a key whose text is lost cannot be read again. */
const openOut = async (path: string): Promise<Result<Awaited<ReturnType<typeof open>>>> => {
  try {
    return ok(await open(path, "wx", 0o600))
  } catch (error) {
    return fail("invalid_configuration", `${path} cannot be made: ${reasonOf(error)}`)
  }
}

const make = async ({ state, work }: { readonly state: string; readonly work: Creation }) => {
  const { name, permissions } = work
  const environment = judge(EnvironmentKey, work.environment ?? "default")
  if (!environment.ok) return fail("invalid_arguments", `--environment ${environment.error.message}`)
  return operatorClient(state).createKey({
    name,
    permissions: [...permissions],
    environment: environment.value,
  })
}

const create = async (command: KeysCommand, work: Creation): Promise<Result<Said>> => {
  const file = work.out === undefined ? undefined : await openOut(work.out)
  if (file?.ok === false) return file
  try {
    const made = await make({ state: command.state, work })
    if (!made.ok) return made
    const { key, secret } = made.value
    await file?.value.writeFile(`${secret}\n`)
    const shown = file === undefined ? secret : key.id
    return ok({
      out: command.json ? `${JSON.stringify(file === undefined ? made.value : { key })}\n` : `${shown}\n`,
      err: file === undefined ? `computerd: key ${key.id}; its text is not shown again\n` : "",
    })
  } finally {
    await file?.value.close()
  }
}

const revoke = async (command: KeysCommand, keyId: string): Promise<Result<Said>> => {
  const id = judge(ApiKeyId, keyId)
  if (!id.ok) return fail("invalid_arguments", `KEY ${id.error.message}`)
  const revoked = await operatorClient(command.state).revokeKey(id.value)
  if (!revoked.ok) return revoked
  return ok({ out: command.json ? `${JSON.stringify(revoked.value)}\n` : "revoked\n", err: "" })
}

const list = async (command: KeysCommand): Promise<Result<Said>> => {
  const listed = await operatorClient(command.state).keys()
  if (!listed.ok) return listed
  return ok({ out: command.json ? `${JSON.stringify(listed.value)}\n` : keyRows(listed.value.keys), err: "" })
}

const work = (command: KeysCommand): Promise<Result<Said>> => {
  switch (command.work.verb) {
    case "list":
      return list(command)
    case "create":
      return create(command, command.work)
    case "revoke":
      return revoke(command, command.work.keyId)
  }
}

export const runKeys = async (
  command: KeysCommand,
  { out, err }: Pick<FleetDeps, "out" | "err">,
): Promise<number> => {
  const said = await work(command)
  if (!said.ok) {
    await writeOut(err, failureLine(said.error))
    return exitFailure
  }
  await writeOut(out, said.value.out)
  await writeOut(err, said.value.err)
  return 0
}
