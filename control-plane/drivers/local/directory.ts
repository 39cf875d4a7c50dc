/**
 * The directory of one Computer (0700): its supervisor's configuration and credential, the supervisor's state, the
 * workspace, the log, and the record of the running supervisor.
 */
import { chmod, mkdir, readFile, rm } from "node:fs/promises"
import { join } from "node:path"
import { SupervisorConfiguration } from "@computerd/protocol/configuration"
import { z } from "zod"
import { writeDurably } from "../../durable.ts"
import { ProcessIdentity } from "./identity.ts"

export interface ComputerDirectory {
  readonly root: string
  readonly configuration: string
  readonly credential: string
  readonly state: string
  readonly workspace: string
  readonly log: string
  readonly record: string
}

export const computerDirectory = (stateDirectory: string, computerId: string): ComputerDirectory => {
  const root = join(stateDirectory, "computers", computerId)
  return {
    root,
    configuration: join(root, "supervisor.json"),
    credential: join(root, "credential"),
    state: join(root, "state"),
    workspace: join(root, "workspace"),
    log: join(root, "supervisor.log"),
    record: join(root, "process.json"),
  }
}

/** What the driver last knew of a Computer's supervisor. No file: none was started, or it was stopped on purpose. */
export const SupervisorRecord = z.discriminatedUnion("state", [
  /** About to be started; whether it was must be found out. */
  z.strictObject({ state: z.literal("starting") }),
  z.strictObject({ state: z.literal("running"), process: ProcessIdentity }),
  /** Frozen, or about to be, or just thawed. */
  z.strictObject({ state: z.literal("parked"), process: ProcessIdentity }),
  z.strictObject({ state: z.literal("lost"), reason: z.string() }),
])
export type SupervisorRecord = Readonly<z.infer<typeof SupervisorRecord>>

const readJson = async <Value>(path: string, schema: z.ZodType<Value>): Promise<Value | undefined> => {
  try {
    return schema.parse(JSON.parse(await readFile(path, "utf8")))
  } catch {
    return undefined
  }
}

export const readRecord = (directory: ComputerDirectory): Promise<SupervisorRecord | undefined> =>
  readJson(directory.record, SupervisorRecord)

export const writeRecord = (directory: ComputerDirectory, record: SupervisorRecord): Promise<void> =>
  writeDurably(directory.record, JSON.stringify(record))

export const forgetRecord = (directory: ComputerDirectory): Promise<void> =>
  rm(directory.record, { force: true })

export const readConfiguration = (
  directory: ComputerDirectory,
): Promise<SupervisorConfiguration | undefined> => readJson(directory.configuration, SupervisorConfiguration)

export const makeDirectory = async (directory: ComputerDirectory): Promise<void> => {
  await mkdir(directory.root, { recursive: true, mode: 0o700 })
  await chmod(directory.root, 0o700)
  await mkdir(directory.state, { recursive: true, mode: 0o700 })
}

const credentialBytes = 32

/** The credential is made once; its text stays in the file (0600) and only its hash leaves this function. */
export const ensureCredential = async (
  directory: ComputerDirectory,
  randomBytes: (count: number) => Uint8Array,
): Promise<string> => {
  const kept = await readFile(directory.credential, "utf8").catch(() => "")
  const credential =
    kept.trim() === "" ? Buffer.from(randomBytes(credentialBytes)).toString("base64url") : kept.trim()
  if (kept.trim() === "") await writeDurably(directory.credential, `${credential}\n`)
  return new Bun.CryptoHasher("sha256").update(credential).digest("hex")
}
