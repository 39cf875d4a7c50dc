/** Durations and sizes as authors write them. Publication turns them into numbers and names what it cannot read. */

/** Milliseconds, or a number with a unit: `"30s"`, `"10m"`, `"1.5h"`, `"7d"`. */
export type Duration = number | `${number}${"ms" | "s" | "m" | "h" | "d"}`

/** Bytes, or a number with a binary unit: `"512MiB"`, `"4GiB"`. */
export type ByteSize = number | `${number}${"KiB" | "MiB" | "GiB" | "TiB"}`
