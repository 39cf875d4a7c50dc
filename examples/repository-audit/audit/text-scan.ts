/**
 * Counts lines and TODO/FIXME markers of one file, chunk by chunk, whatever its size and wherever the chunks end.
 *
 * A line ends with a line feed; a last line without one counts too. A marker is TODO or FIXME in capitals that touches
 * no letter, digit or underscore of ASCII on either side. A file is binary when one of its first 8,000 bytes is NUL,
 * which is the rule that git uses.
 */

export interface TextFacts {
  readonly bytes: number
  readonly binary: boolean
  /** 0 for a binary file, like `markers`. */
  readonly lines: number
  readonly markers: number
}

export interface TextScan {
  readonly add: (chunk: Uint8Array) => void
  readonly end: () => TextFacts
}

const binaryProbeBytes = 8_000
const lineFeed = 10
const markerWords = [Buffer.from("TODO"), Buffer.from("FIXME")] as const
/** A marker is decided once the byte behind the longest of them would be known. */
const undecidedBytes = 5

const isWordByte = (byte: number | undefined): boolean =>
  byte !== undefined &&
  ((byte >= 48 && byte <= 57) || (byte >= 65 && byte <= 90) || byte === 95 || (byte >= 97 && byte <= 122))

const lineFeeds = (chunk: Uint8Array): number => {
  let count = 0
  for (let at = chunk.indexOf(lineFeed); at !== -1; at = chunk.indexOf(lineFeed, at + 1)) count += 1
  return count
}

/** Markers that begin at `from` or later and before `to`. */
const markersBetween = (window: Buffer, from: number, to: number): number => {
  let count = 0
  for (const word of markerWords) {
    for (let at = window.indexOf(word, from); at !== -1 && at < to; at = window.indexOf(word, at + 1)) {
      if (!isWordByte(window[at - 1]) && !isWordByte(window[at + word.length])) count += 1
    }
  }
  return count
}

const markerScan = (): { readonly add: (chunk: Uint8Array) => void; readonly end: () => number } => {
  let count = 0
  /** What is undecided yet, with the byte before it. */
  let carry = Buffer.alloc(0)
  let from = 0
  return {
    add: (chunk) => {
      const window = Buffer.concat([carry, chunk])
      const to = Math.max(from, window.length - undecidedBytes)
      count += markersBetween(window, from, to)
      const kept = Math.max(0, to - 1)
      carry = Buffer.from(window.subarray(kept))
      from = to - kept
    },
    end: () => count + markersBetween(carry, from, carry.length),
  }
}

export const textScan = (): TextScan => {
  const markers = markerScan()
  let bytes = 0
  let binary = false
  let feeds = 0
  let lastByte: number | undefined
  return {
    add: (chunk) => {
      if (chunk.length === 0) return
      const probe = chunk.subarray(0, Math.max(0, binaryProbeBytes - bytes))
      if (probe.includes(0)) binary = true
      bytes += chunk.length
      if (binary) return
      feeds += lineFeeds(chunk)
      lastByte = chunk.at(-1)
      markers.add(chunk)
    },
    end: () => {
      if (binary) return { bytes, binary, lines: 0, markers: 0 }
      const unended = bytes > 0 && lastByte !== lineFeed ? 1 : 0
      return { bytes, binary, lines: feeds + unended, markers: markers.end() }
    },
  }
}
