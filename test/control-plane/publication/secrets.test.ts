/** The grammar of a Template's secrets. */
import { describe, expect, test } from "bun:test"
import { originsMax, parseSecrets, secretsMax } from "@computerd/control-plane/publication/secrets/secrets"
import fc from "fast-check"

const at = "templates[web].secrets"
const secret = (env: object = {}, rest: object = {}) => ({
  secret: "API_KEY",
  env: { name: "API_KEY", mode: "protected", allowedOrigins: ["https://api.example.com"], ...env },
  ...rest,
})
const refusal = (value: unknown) => {
  const secrets = parseSecrets(value, at)
  return secrets.ok ? undefined : secrets.error
}
const normal = (value: unknown) => {
  const secrets = parseSecrets(value, at)
  if (!secrets.ok) throw new Error(secrets.error.message)
  return secrets.value
}
const origins = (...allowedOrigins: readonly unknown[]) =>
  normal([secret({ allowedOrigins })])[0]?.env.allowedOrigins

describe("secrets", () => {
  test("an absent list is an empty one", () => {
    expect(normal(undefined)).toEqual([])
    expect(normal([])).toEqual([])
  })

  const refused: readonly (readonly [string, unknown, string])[] = [
    ["null", null, at],
    ["an object", {}, at],
    ["a secret that is a name alone", ["API_KEY"], `${at}[0]`],
    ["no name", [{ env: secret().env }], `${at}[0].secret`],
    ["a name with a space", [secret({}, { secret: "my key" })], `${at}[0].secret`],
    ["a name of 129", [secret({}, { secret: "a".repeat(129) })], `${at}[0].secret`],
    ["no variable", [{ secret: "API_KEY" }], `${at}[0].env`],
    ["a value", [secret({}, { value: "s3cr3t" })], `${at}[0].value`],
    ["a variable with a hyphen", [secret({ name: "API-KEY" })], `${at}[0].env.name`],
    ["a variable that starts with a digit", [secret({ name: "1KEY" })], `${at}[0].env.name`],
    ["no mode", [secret({ mode: undefined })], `${at}[0].env.mode`],
    ["another mode", [secret({ mode: "raw" })], `${at}[0].env.mode`],
    ["no origins", [secret({ allowedOrigins: undefined })], `${at}[0].env.allowedOrigins`],
    ["an empty list of origins", [secret({ allowedOrigins: [] })], `${at}[0].env.allowedOrigins`],
    ["a field that is not known", [secret({ paths: [] })], `${at}[0].env.paths`],
    ["one variable twice", [secret(), secret({}, { secret: "OTHER" })], `${at}[1].env.name`],
  ]
  for (const [what, value, field] of refused)
    test(`R254 ${what} is refused at ${field}`, () => {
      expect(refusal(value)).toMatchObject({ code: "invalid_program", field })
      expect(refusal(value)?.message).not.toContain("s3cr3t")
    })

  test("variables that decide how a process is found, loaded or connected are reserved", () => {
    const names = [
      "PATH",
      "Home",
      "HELMR_X",
      "BUN_OPTIONS",
      "NODE_OPTIONS",
      "LD_PRELOAD",
      "https_proxy",
      "ALL_PROXY",
    ]
    for (const name of names) expect(refusal([secret({ name })])?.field).toBe(`${at}[0].env.name`)
    expect(refusal([secret({ name: "PATH_TO_KEY" }), secret({ name: "PROXY_KEY" })])).toBeUndefined()
  })

  test("an origin is HTTPS, lower-case, without the port that HTTPS implies and without a slash", () => {
    expect(origins("HTTPS://API.Example.com/")).toEqual(["https://api.example.com"])
    expect(origins("https://api.example.com:443", "https://api.example.com")).toEqual([
      "https://api.example.com",
    ])
    expect(origins("https://api.example.com:8443", "https://a.example.com")).toEqual([
      "https://a.example.com",
      "https://api.example.com:8443",
    ])
    expect(origins("https://bücher.example.com")).toEqual(["https://xn--bcher-kva.example.com"])
  })

  const noOrigin: readonly unknown[] = [
    "",
    "api.example.com",
    "http://api.example.com",
    "https://",
    "https://*.example.com",
    "https://api.example.com/v1",
    "https://api.example.com?x",
    "https://api.example.com#x",
    "https://user:pass@api.example.com",
    "https://api.example.com:0",
    "https://api.example.com:65536",
    "https://api.example.com:",
    "https://10.0.0.1",
    "https://[::1]",
    "https://localhost",
    " https://api.example.com",
    "https://api.example.com\n",
    "https:/api.example.com",
    "https://api.example.com\\@evil.example.com",
    "wss://api.example.com",
    7,
    null,
  ]
  for (const origin of noOrigin)
    test(`${JSON.stringify(origin)} is no origin`, () => {
      const given = [secret({ allowedOrigins: ["https://ok.example.com", origin] })]
      expect(refusal(given)?.field).toBe(`${at}[0].env.allowedOrigins[1]`)
    })

  test("so many secrets, and so many origins of one", () => {
    const many = (count: number) =>
      Array.from({ length: count }, (_, index) => secret({ name: `KEY_${index}` }))
    const origin = (count: number) =>
      Array.from({ length: count }, (_, index) => `https://h${index}.example.com`)
    expect(refusal(many(secretsMax))).toBeUndefined()
    expect(refusal(many(secretsMax + 1))?.field).toBe(at)
    expect(refusal([secret({ allowedOrigins: origin(originsMax) })])).toBeUndefined()
    expect(refusal([secret({ allowedOrigins: origin(originsMax + 1) })])?.field).toBe(
      `${at}[0].env.allowedOrigins`,
    )
  })

  test("the normal form reads as itself and does not depend on order or duplication of origins", () => {
    const origin = fc
      .tuple(fc.constantFrom("a", "B", "bücher"), fc.constantFrom("", "/", ":443", ":8443", ":8443/"))
      .map(([host, end]) => `https://${host}.example.com${end}`)
    const one = fc.record({
      name: fc.stringMatching(/^KEY_[A-Z0-9]{1,4}$/),
      allowedOrigins: fc.array(origin, { minLength: 1, maxLength: 7 }),
    })
    fc.assert(
      fc.property(fc.uniqueArray(one, { selector: ({ name }) => name, maxLength: 6 }), (envs) => {
        const once = normal(envs.map((env) => secret(env)))
        expect(normal(once)).toEqual(once)
        const other = envs.map((env) =>
          secret({ ...env, allowedOrigins: [...env.allowedOrigins, ...env.allowedOrigins].reverse() }),
        )
        expect(normal(other.reverse())).toEqual(once)
      }),
    )
  })
})
