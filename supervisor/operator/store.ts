/** What `GET /v1/status` tells of the store. */
import { statSync } from "node:fs"
import { join } from "node:path"
import type { Status } from "@computerd/protocol/operator"
import type { Outbox } from "../link/outbox.ts"
import { admissionsTable } from "../store/admissions.ts"
import { type Store, storeFileName } from "../store/open.ts"

export interface StoreStatusDeps {
  readonly stateDirectory: string
  readonly store: Pick<Store, "database" | "hasRoom">
  readonly outbox: Pick<Outbox, "countSetAside">
}

const sizeOf = (file: string): number => statSync(file, { throwIfNoEntry: false })?.size ?? 0

export const storeStatus = ({ stateDirectory, store, outbox }: StoreStatusDeps): Status["store"] => {
  const file = join(stateDirectory, storeFileName)
  return {
    fileBytes: sizeOf(file),
    logBytes: sizeOf(`${file}-wal`),
    ballast: store.hasRoom() ? "kept" : "given_up",
    admissions: admissionsTable(store.database).count(),
    eventsSetAside: outbox.countSetAside(),
  }
}
