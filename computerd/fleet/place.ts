/** Which control plane is asked, and with which key. The key is never an argument: every user of a machine sees those. */
import { open } from "node:fs/promises"
import { fail, ok, type Result } from "@computerd/protocol/errors"
import { systemWord } from "../failure.ts"

export interface Place {
  readonly baseUrl: string
  readonly apiKey: string
}

export interface PlaceAsked {
  readonly url: string | undefined
  readonly keyFile: string | undefined
  readonly environment: Readonly<Record<string, string | undefined>>
}

const ownerOnly = 0o077
const fileMaxBytes = 4_096

const readKeyFile = async (path: string): Promise<Result<string>> => {
  try {
    const file = await open(path, "r")
    try {
      const found = await file.stat()
      const { mode, size } = found
      if (!found.isFile()) return fail("invalid_configuration", `${path} is no file`)
      if ((mode & ownerOnly) !== 0)
        return fail("invalid_configuration", `${path} can be read by others: chmod 600 it`)
      if (size > fileMaxBytes)
        return fail("invalid_configuration", `${path} is no key file: it has ${size} bytes`)
      const key = (await file.readFile("utf8")).trim()
      return key === "" ? fail("invalid_configuration", `${path} is empty`) : ok(key)
    } finally {
      await file.close()
    }
  } catch (error) {
    return fail("invalid_configuration", `${path} cannot be read: ${systemWord(error)}`)
  }
}

export const placeOf = async ({ url, keyFile, environment }: PlaceAsked): Promise<Result<Place>> => {
  const baseUrl = url ?? environment["HELMR_URL"] ?? ""
  if (baseUrl === "")
    return fail(
      "invalid_configuration",
      "give --url or HELMR_URL, where the public API is, such as http://127.0.0.1:7080",
    )
  const apiKey = keyFile === undefined ? ok(environment["HELMR_API_KEY"] ?? "") : await readKeyFile(keyFile)
  if (!apiKey.ok) return apiKey
  if (apiKey.value === "")
    return fail(
      "invalid_configuration",
      "give --key-file or HELMR_API_KEY; computerd fleet keys create makes a key",
    )
  return ok({ baseUrl, apiKey: apiKey.value })
}
