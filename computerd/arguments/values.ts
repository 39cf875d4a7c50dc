/** Values of flags that have a form of their own. */
import type { ApiListen } from "@computerd/control-plane/api/server"
import { isLoopback, loopbackAdvice } from "@computerd/control-plane/link/loopback"
import { parseDuration } from "@computerd/control-plane/publication/definition/duration"
import { parseCeiling } from "@computerd/control-plane/publication/network/reach"
import { fail, ok, type Result } from "@computerd/protocol/errors"

export interface Listen {
  readonly hostname: string
  readonly port: number
}

/** Loopback alone, on any free port. */
const listenDefault: Listen = { hostname: "127.0.0.1", port: 0 }

const listenForm = /^(?:(\[[0-9a-fA-F:]+\]|[^:[\]]+):)?(\d{1,5})$/

/** `HOST:PORT`, or `PORT` on 127.0.0.1. */
const readAddress = (flag: string, given: string): Result<Listen> => {
  const match = listenForm.exec(given)
  const port = Number(match?.[2])
  if (match === null || port > 65_535)
    return fail("invalid_arguments", `${flag} must be HOST:PORT, such as 127.0.0.1:7070; it is "${given}"`)
  return ok({ hostname: match[1]?.replace(/^\[(.*)\]$/, "$1") ?? listenDefault.hostname, port })
}

export const readListen = (given: string | undefined): Result<Listen> => {
  if (given === undefined) return ok(listenDefault)
  const address = readAddress("--listen", given)
  if (!address.ok || isLoopback(address.value.hostname)) return address
  return fail("invalid_arguments", `--listen ${loopbackAdvice}; it is "${given}"`)
}

/** Of the public API; absent: there is none. Beyond loopback only behind a proxy that ends TLS. */
export const readApi = (given: string | undefined, behindProxy: boolean): Result<ApiListen | undefined> => {
  if (given === undefined)
    return behindProxy ? fail("invalid_arguments", "--api-behind-proxy needs --api") : ok(undefined)
  const address = readAddress("--api", given)
  if (!address.ok) return address
  if (behindProxy || isLoopback(address.value.hostname)) return ok({ ...address.value, behindProxy })
  return fail(
    "invalid_arguments",
    `--api ${loopbackAdvice}, or --api-behind-proxy must say that a proxy which ends TLS stands in front; it is "${given}"`,
  )
}

/** How many Computers may run at once: a whole number from 1; absent is no limit. */
export const readCapacity = (given: string | undefined): Result<number | undefined> => {
  if (given === undefined) return { ok: true, value: undefined }
  if (!/^[1-9]\d{0,5}$/.test(given))
    return fail("invalid_arguments", `--capacity must be a whole number from 1; it is "${given}"`)
  return ok(Number(given))
}

/** Private ranges that network policies may name; none unless given. */
export const readPrivateRanges = (given: readonly string[]): Result<readonly string[]> => {
  const ceiling = parseCeiling(given)
  return ceiling.ok ? ok(given) : fail("invalid_arguments", `--private-range: ${ceiling.error.message}`)
}

const limitDefault = 50
const limitMax = 10_000

/** How many rows a list shows. */
export const readLimit = (given: string | undefined): Result<number> => {
  if (given === undefined) return ok(limitDefault)
  const limit = /^[1-9]\d{0,4}$/.test(given) ? Number(given) : Number.NaN
  return limit <= limitMax
    ? ok(limit)
    : fail("invalid_arguments", `--limit must be a whole number from 1 to ${limitMax}; it is "${given}"`)
}

/** A time such as `30s`, in ms. */
export const readPeriod = (flag: string, given: string | undefined): Result<number | undefined> => {
  const ms = parseDuration(given, flag)
  if (!ms.ok) return fail("invalid_arguments", ms.error.message)
  return ms.value === 0
    ? fail("invalid_arguments", `${flag} must be longer than nothing`)
    : ok(ms.value ?? undefined)
}

const variableName = /^[A-Za-z_][A-Za-z0-9_]*$/

/** The value is not repeated in the message: it may be a secret. */
export const readVariables = (given: readonly string[]): Result<Readonly<Record<string, string>>> => {
  const variables: Record<string, string> = {}
  for (const assignment of given) {
    const equals = assignment.indexOf("=")
    const name = assignment.slice(0, Math.max(0, equals))
    if (!variableName.test(name)) return fail("invalid_arguments", "--env must be NAME=VALUE")
    if (Object.hasOwn(variables, name)) return fail("invalid_arguments", `--env gives ${name} twice`)
    variables[name] = assignment.slice(equals + 1)
  }
  return ok(variables)
}
