/** Numbers for people, the same in every locale. */

/** 1234567 → `1,234,567`. */
export const grouped = (value: number): string => String(value).replace(/\B(?=(\d{3})+$)/g, ",")

export const counted = (value: number, one: string, many = `${one}s`): string =>
  `${grouped(value)} ${value === 1 ? one : many}`

/** Hundredths, rounded half up in whole numbers, so that no platform rounds otherwise. */
const hundredths = (numerator: bigint, denominator: bigint): string => {
  const scaled = (numerator * 200n + denominator) / (denominator * 2n)
  return `${grouped(Number(scaled / 100n))}.${String(scaled % 100n).padStart(2, "0")}`
}

/** Markers for each 1,000 lines of text; a dash where there is no text. */
export const density = (markers: number, lines: number): string =>
  lines === 0 ? "–" : hundredths(BigInt(markers) * 1000n, BigInt(lines))

/** `12.34 %`; a dash of nothing. */
export const share = (part: number, whole: number): string =>
  whole === 0 ? "–" : `${hundredths(BigInt(part) * 100n, BigInt(whole))} %`
