import type { ComputerStatus, Residency } from "@computerd/protocol/content"
import type {
  ComputerId,
  DefinitionKey,
  DeploymentId,
  EnvironmentKey,
  StoreId,
} from "@computerd/protocol/ids"
import { closingDue } from "../rules/due.ts"
import type { Computer, DesiredState } from "../rules/entities.ts"
import type { ComputerPage } from "../rules/state.ts"
import { last, type Sql, type Value } from "./sql.ts"
import { type Table, tableOf } from "./table.ts"

interface ComputerRecord {
  readonly id: ComputerId
  readonly environment: EnvironmentKey
  readonly deployment_id: DeploymentId
  readonly template: DefinitionKey
  readonly key: string | null
  readonly status: ComputerStatus
  readonly residency: Residency
  readonly desired: DesiredState
  readonly error: string | null
  readonly delete_after_unused_ms: number | null
  readonly unused_since: number | null
  readonly wanted_since: number | null
  readonly parkable_since: number | null
  readonly epoch: number
  readonly lease_until: number | null
  readonly store_id: StoreId | null
  readonly boot_id: string | null
  readonly attached: number
  readonly command_seq: number
  readonly command_ack: number
  readonly created_at: number
  readonly updated_at: number
}

const computerOf = (record: ComputerRecord): Computer => ({
  id: record.id,
  environment: record.environment,
  deploymentId: record.deployment_id,
  template: record.template,
  key: record.key,
  status: record.status,
  residency: record.residency,
  desired: record.desired,
  error: record.error,
  deleteAfterUnusedMs: record.delete_after_unused_ms,
  unusedSince: record.unused_since,
  wantedSince: record.wanted_since,
  parkableSince: record.parkable_since,
  epoch: record.epoch,
  leaseUntil: record.lease_until,
  storeId: record.store_id,
  bootId: record.boot_id,
  attached: record.attached === 1,
  commandSeq: record.command_seq,
  commandAck: record.command_ack,
  createdAt: record.created_at,
  updatedAt: record.updated_at,
})

const deleteDue = (computer: Computer): number | null =>
  computer.status !== "available" || computer.unusedSince === null
    ? null
    : closingDue(computer.unusedSince, computer.deleteAfterUnusedMs)

const table = (sql: Sql): Table<Computer> =>
  tableOf<Computer>(sql, {
    name: "computers",
    id: (row) => row.id,
    fixed: {
      environment: (row) => row.environment,
      deployment_id: (row) => row.deploymentId,
      template: (row) => row.template,
      key: (row) => row.key,
      delete_after_unused_ms: (row) => row.deleteAfterUnusedMs,
      created_at: (row) => row.createdAt,
    },
    changing: {
      status: (row) => row.status,
      residency: (row) => row.residency,
      desired: (row) => row.desired,
      error: (row) => row.error,
      unused_since: (row) => row.unusedSince,
      delete_due: deleteDue,
      wanted_since: (row) => row.wantedSince,
      parkable_since: (row) => row.parkableSince,
      epoch: (row) => row.epoch,
      lease_until: (row) => row.leaseUntil,
      store_id: (row) => row.storeId,
      boot_id: (row) => row.bootId,
      attached: (row) => (row.attached ? 1 : 0),
      command_seq: (row) => row.commandSeq,
      command_ack: (row) => row.commandAck,
      updated_at: (row) => row.updatedAt,
    },
  })

/** The caller's own, and those of the Sessions that it owns at any depth or requested. */
const visible = `
  with recursive owned (id) as (
    select id from sessions where id = $1
    union
    select child.id from sessions child join owned on child.parent_id = owned.id
  )
  select * from computers where id < $2 and id in (
    select computer_id from sessions where id in (select id from owned)
    union
    select computer_id from sessions where requester_id = $1
  ) order by id desc limit $3`

export interface EnvironmentComputers {
  readonly environment: EnvironmentKey
  readonly status: ComputerStatus | undefined
  readonly before: string | null
  readonly limit: number
}

export interface Computers extends Table<Computer> {
  readonly get: (id: ComputerId) => Computer | undefined
  readonly byKey: (environment: EnvironmentKey, key: string) => Computer | undefined
  readonly all: () => readonly Computer[]
  readonly page: (page: ComputerPage) => readonly Computer[]
  /** Of one Environment, newest first, below `before`; without a status those that are not deleted. */
  readonly pageIn: (page: EnvironmentComputers) => readonly Computer[]
  readonly roomTaken: (environment: EnvironmentKey) => readonly Computer[]
  readonly roomRetried: (environment: EnvironmentKey) => readonly Computer[]
  readonly waitingForRoom: (environment: EnvironmentKey, limit: number) => readonly Computer[]
  readonly dueForDeletion: (now: number, limit: number) => readonly ComputerId[]
  readonly nextDeletion: () => number | undefined
  /**
   * Supervisors attach again after a restart of the control plane. A lease that was not given back counts anew, up to
   * `leaseUntil`: the clock may have leapt meanwhile, and it must neither end early nor block others for long.
   */
  readonly forgetAttachments: (leaseUntil: number) => void
  /** The wall clock has moved by so much while no time passed for anybody. */
  readonly moveTimes: (byMs: number) => void
  readonly acknowledge: (id: ComputerId, seq: number) => void
}

export const computersOf = (sql: Sql): Computers => {
  const list = (text: string, ...values: readonly Value[]): readonly Computer[] =>
    sql.all<ComputerRecord>(text, ...values).map(computerOf)
  return {
    ...table(sql),
    get: (id) => {
      const record = sql.get<ComputerRecord>("select * from computers where id = $1", id)
      return record === undefined ? undefined : computerOf(record)
    },
    byKey: (environment, key) =>
      list(
        "select * from computers where environment = $1 and key = $2 and status <> 'deleted'",
        environment,
        key,
      )[0],
    all: () => list("select * from computers where status <> 'deleted' order by id"),
    page: (page) => list(visible, page.of.id, page.before ?? last, page.limit),
    pageIn: ({ environment, status, before, limit }) => {
      const which = status === undefined ? "status <> $3" : "status = $3"
      return list(
        `select * from computers where environment = $1 and id < $2 and ${which} order by id desc limit $4`,
        environment,
        before ?? last,
        status ?? "deleted",
        limit,
      )
    },
    roomTaken: (environment) =>
      list(
        `select * from computers where environment = $1 and status <> 'deleted' and (
           residency in ('starting', 'running', 'restoring', 'parking')
           or (desired = 'running' and residency <> 'unavailable')) order by id`,
        environment,
      ),
    roomRetried: (environment) =>
      list(
        `select * from computers where environment = $1 and status <> 'deleted'
         and desired = 'running' and residency = 'unavailable' order by id`,
        environment,
      ),
    waitingForRoom: (environment, limit) =>
      list(
        `select * from computers where environment = $1 and wanted_since is not null
         order by wanted_since, id limit $2`,
        environment,
        limit,
      ),
    moveTimes: (byMs) => {
      sql.run(
        `update computers set lease_until = lease_until + $1, unused_since = unused_since + $1,
           delete_due = delete_due + $1, wanted_since = wanted_since + $1, parkable_since = parkable_since + $1`,
        byMs,
      )
    },
    dueForDeletion: (now, limit) =>
      sql
        .all<{ readonly id: ComputerId }>(
          "select id from computers where delete_due <= $1 order by delete_due limit $2",
          now,
          limit,
        )
        .map((row) => row.id),
    nextDeletion: () =>
      sql.get<{ readonly due: number | null }>(
        "select min(delete_due) as due from computers where delete_due is not null",
      )?.due ?? undefined,
    forgetAttachments: (leaseUntil) => {
      sql.run("update computers set attached = 0 where attached = 1")
      sql.run("update computers set lease_until = $1 where lease_until is not null", leaseUntil)
    },
    acknowledge: (id, seq) => {
      sql.run("update computers set command_ack = $1 where id = $2 and command_ack < $1", seq, id)
    },
  }
}
