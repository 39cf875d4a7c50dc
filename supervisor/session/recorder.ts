/** The exit recorder of this Computer: the store says which holder an earlier supervisor left, and what is awaited. */
import type { ComputerId } from "@computerd/protocol/ids"
import { z } from "zod"
import type { Journal } from "../journal.ts"
import type { Timers } from "../ports.ts"
import { type ProcessStamp, sameProcess } from "../process/identity.ts"
import { readBootId } from "../process/procfs.ts"
import { createExitRecorder, type ExitRecorder } from "../process/recorder.ts"
import type { Store } from "../store/open.ts"
import { stampOfRow } from "./inherit.ts"

export interface RecorderDeps {
  readonly timers: Timers
  readonly journal: Journal
  readonly store: Store
  readonly computerId: ComputerId
}

const Stored = z.object({ pid: z.int(), startTime: z.string(), bootId: z.string() })

const previousHolder = (store: Store): ProcessStamp | undefined => {
  const text = store.meta.get("exit_recorder")
  return text === undefined ? undefined : Stored.parse(JSON.parse(text))
}

export const openRecorder = ({ timers, journal, store, computerId }: RecorderDeps): ExitRecorder => {
  const awaited = store.processes.all().flatMap((row) => stampOfRow(row) ?? [])
  return createExitRecorder({
    timers,
    journal,
    computerId,
    bootId: readBootId(),
    previous: previousHolder(store),
    remember: (holder) => store.transaction(() => store.meta.set("exit_recorder", JSON.stringify(holder))),
    isAwaited: (process) => awaited.some((one) => sameProcess(one, process)),
  })
}
