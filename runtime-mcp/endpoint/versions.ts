/** Protocol revisions that this endpoint serves. The newest is stateless; the older ones begin with `initialize`. */

export const newVersion = "2026-07-28"
/** Newest first; the first is what an unknown revision in `initialize` is answered with. */
export const oldVersions = ["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05", "2024-10-07"] as const

const old: ReadonlySet<string> = new Set(oldVersions)

export const isOldVersion = (version: string): boolean => old.has(version)

/** What `initialize` settles on. */
export const negotiated = (requested: string): string => (old.has(requested) ? requested : oldVersions[0])
