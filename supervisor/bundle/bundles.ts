/**
 * Published bundles on this Computer, unpacked once for each digest.
 *
 * B1 a bundle's folder appears complete or not at all: it is filled under another name and then renamed
 * B2 those who ask for one digest at a time share one download
 */
import { existsSync, mkdirSync, readdirSync, rmSync, statSync } from "node:fs"
import { mkdir, rename, rm } from "node:fs/promises"
import { join } from "node:path"
import { failure, ok, type Result } from "@computerd/protocol/errors"
import type { Digest } from "@computerd/protocol/ids"
import type { Journal } from "../journal.ts"
import type { Ports } from "../ports.ts"
import { type DownloadFailure, download } from "./download.ts"
import { unpack } from "./unpack.ts"

export interface Bundles {
  /** Absolute path of the unpacked bundle's `index.js`. */
  readonly path: (digest: Digest) => Promise<Result<string>>
}

export interface BundlesDeps {
  readonly ports: Ports
  readonly journal: Journal
  readonly stateDirectory: string
  readonly controlPlaneUrl: string
  readonly credential: () => string
  /** Before the second attempt; doubles with each further one. */
  readonly firstPauseMs?: number
}

const attemptsMax = 5
const attemptTimeoutMs = 120_000
const firstPauseMs = 250
const incoming = "incoming-"

/** Half to all of the doubled pause, so that Computers that failed together do not come back together. */
const pauseMs = (first: number, attempt: number, random: number): number =>
  first * 2 ** (attempt - 1) * (0.5 + random / 2)

export const createBundles = (deps: BundlesDeps): Bundles => {
  const { ports, journal } = deps
  const root = join(deps.stateDirectory, "bundles")
  const underway = new Map<Digest, Promise<Result<string>>>()
  mkdirSync(root, { recursive: true, mode: 0o700 })
  for (const name of readdirSync(root))
    if (name.startsWith(incoming)) rmSync(join(root, name), { recursive: true, force: true })

  const pause = (attempt: number): Promise<void> =>
    new Promise((resolve) => {
      ports.timers.after(pauseMs(deps.firstPauseMs ?? firstPauseMs, attempt, ports.random()), resolve)
    })

  /** One attempt in a folder of its own, which is gone or renamed afterwards. */
  const attempt = async (digest: Digest): Promise<Result<void, DownloadFailure>> => {
    const folder = join(root, `${incoming}${Buffer.from(ports.randomBytes(8)).toString("hex")}`)
    const archive = join(folder, "archive.tar")
    const content = join(folder, "content")
    const startedMs = ports.clock.monotonicMs()
    try {
      await mkdir(content, { recursive: true, mode: 0o700 })
      const fetched = await download({ ...deps, attemptTimeoutMs }, digest, archive)
      if (!fetched.ok) return fetched
      const bytes = statSync(archive).size
      const unpacked = await unpack(archive, content)
      if (!unpacked.ok) return { ok: false, error: { ...unpacked.error, final: true } }
      await rm(join(root, digest), { recursive: true, force: true })
      ports.reach("bundle.before_rename")
      await rename(content, join(root, digest))
      ports.reach("bundle.after_rename")
      const tookMs = Math.round(ports.clock.monotonicMs() - startedMs)
      journal.record({ event: "bundle_stored", digest, bytes, tookMs })
      return ok(undefined)
    } catch (error) {
      const message = error instanceof Error ? error.message : String(error)
      return {
        ok: false,
        error: { ...failure("bundle_failed", `bundle ${digest} cannot be stored: ${message}`), final: false },
      }
    } finally {
      await rm(folder, { recursive: true, force: true })
    }
  }

  const obtain = async (digest: Digest, entry: string): Promise<Result<string>> => {
    for (let count = 1; ; count += 1) {
      const result = await attempt(digest)
      if (result.ok) return ok(entry)
      const { final, ...error } = result.error
      journal.record({ event: "bundle_attempt_failed", digest, attempt: count, error })
      if (final || count === attemptsMax) return { ok: false, error }
      await pause(count)
    }
  }

  return {
    path: (digest) => {
      const entry = join(root, digest, "index.js")
      if (existsSync(entry)) return Promise.resolve(ok(entry))
      const running = underway.get(digest)
      if (running !== undefined) return running
      const started = obtain(digest, entry).finally(() => underway.delete(digest))
      underway.set(digest, started)
      return started
    },
  }
}
