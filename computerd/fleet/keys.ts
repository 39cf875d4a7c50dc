/** `computerd fleet keys`: over the control plane's own socket, which its owner alone can open. */
import { type FileHandle, open, rm } from "node:fs/promises"
import { operatorClient } from "@computerd/control-plane/http/client"
import type { ApiKey, CreatedKey } from "@computerd/protocol/api/keys"
import { fail, ok, type Result } from "@computerd/protocol/errors"
import type { ApiKeyId } from "@computerd/protocol/ids"
import type { FleetCommand, KeyWork } from "../arguments/fleet/command.ts"
import { exitFailure } from "../exit-codes.ts"
import { failureLine, systemWord } from "../failure.ts"
import { writeOut } from "../output.ts"
import type { FleetDeps } from "./deps.ts"
import { table } from "./table.ts"

type KeysCommand = Extract<FleetCommand, { readonly verb: "fleet keys" }>

interface Asked {
  readonly state: string
  readonly work: Extract<KeyWork, { readonly verb: "create" }>
  readonly json: boolean
}

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

/** Before the key is made: a key whose text is lost cannot be read again. */
const openOut = async (path: string): Promise<Result<FileHandle>> => {
  try {
    return ok(await open(path, "wx", 0o600))
  } catch (error) {
    return fail("invalid_configuration", `${path} cannot be made: ${systemWord(error)}`)
  }
}

const make = ({ state, work }: Asked): Promise<Result<CreatedKey>> =>
  operatorClient(state).createKey({
    name: work.name,
    permissions: [...work.permissions],
    environment: work.environment,
  })

const write = async (file: FileHandle, { key, secret }: CreatedKey): Promise<Result<ApiKey>> => {
  try {
    await file.writeFile(`${secret}\n`)
    return ok(key)
  } catch (error) {
    const what = `key ${key.id} was made and its text could not be written (${systemWord(error)})`
    return fail("invalid_configuration", `${what}: revoke it and make another one`)
  }
}

/** Leaves no file without the text of a key: the same command can be repeated. */
const createIn = async (path: string, asked: Asked): Promise<Result<ApiKey>> => {
  const opened = await openOut(path)
  if (!opened.ok) return opened
  const file = opened.value
  let written: Result<ApiKey> | undefined
  try {
    const made = await make(asked)
    written = made.ok ? await write(file, made.value) : made
    return written
  } finally {
    await file.close()
    if (written?.ok !== true) await rm(path, { force: true })
  }
}

const create = async (asked: Asked): Promise<Result<Said>> => {
  const { out } = asked.work
  if (out !== undefined) {
    const key = await createIn(out, asked)
    if (!key.ok) return key
    return ok({ out: asked.json ? `${JSON.stringify({ key: key.value })}\n` : `${key.value.id}\n`, err: "" })
  }
  const made = await make(asked)
  if (!made.ok) return made
  return ok({
    out: asked.json ? `${JSON.stringify(made.value)}\n` : `${made.value.secret}\n`,
    err: `computerd: key ${made.value.key.id}; its text is not shown again\n`,
  })
}

const revoke = async (command: KeysCommand, keyId: ApiKeyId): Promise<Result<Said>> => {
  const revoked = await operatorClient(command.state).revokeKey(keyId)
  if (!revoked.ok) return revoked
  return ok({ out: command.json ? `${JSON.stringify(revoked.value)}\n` : "revoked\n", err: "" })
}

const list = async (command: KeysCommand): Promise<Result<Said>> => {
  const listed = await operatorClient(command.state).keys()
  if (!listed.ok) return listed
  return ok({ out: command.json ? `${JSON.stringify(listed.value)}\n` : keyRows(listed.value.keys), err: "" })
}

const perform = (command: KeysCommand): Promise<Result<Said>> => {
  const { work, state, json } = command
  switch (work.verb) {
    case "list":
      return list(command)
    case "create":
      return create({ state, work, json })
    case "revoke":
      return revoke(command, work.keyId)
  }
}

export const runKeys = async (
  command: KeysCommand,
  { out, err }: Pick<FleetDeps, "out" | "err">,
): Promise<number> => {
  const said = await perform(command)
  if (!said.ok) {
    await writeOut(err, failureLine(said.error))
    return exitFailure
  }
  await writeOut(out, said.value.out)
  await writeOut(err, said.value.err)
  return 0
}
