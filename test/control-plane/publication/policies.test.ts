/** The policies of a Template as publication resolves them. */
import { describe, expect, test } from "bun:test"
import {
  resolvePolicies,
  type WrittenPolicies,
} from "@computerd/control-plane/publication/definition/policies"
import { preparationIdentity } from "@computerd/control-plane/publication/definition/preparation"
import { Digest } from "@computerd/protocol/ids"
import type { ImageStep } from "@computerd/protocol/manifest"

const at = "templates[web]"
const secret = {
  secret: "API_KEY",
  env: { name: "API_KEY", mode: "protected", allowedOrigins: ["https://api.example.com"] },
}

const resolve = (written: Partial<WrittenPolicies>) =>
  resolvePolicies({ hasPrepare: false, ...written }, { at, ceiling: [] })
const resolved = (written: Partial<WrittenPolicies>) => {
  const policies = resolve(written)
  if (!policies.ok) throw new Error(policies.error.message)
  return policies.value
}
const refusedField = (written: Partial<WrittenPolicies>) => {
  const policies = resolve(written)
  return policies.ok ? undefined : policies.error.field
}

describe("the two phases of a Template", () => {
  test("R216 with prepare, an omitted prepareNetwork is the runtime network, its default included", () => {
    const network = { allowDomains: ["api.example.com"] }
    expect(resolved({ hasPrepare: true, network }).prepareNetwork).toEqual(network)
    expect(resolved({ hasPrepare: true, network: { blockAll: true } }).prepareNetwork).toEqual({
      blockAll: true,
    })
    expect(resolved({ hasPrepare: true }).prepareNetwork).toEqual({ blockAll: false })
  })

  test("R217 an explicit prepareNetwork replaces the policy of its phase as a whole, wider or narrower", () => {
    const network = { allowDomains: ["api.example.com"] }
    const prepareNetwork = { allowDomains: ["registry.example.com"] }
    const both = { hasPrepare: true, network, prepareNetwork }
    expect(resolved(both)).toMatchObject({ network, prepareNetwork })
    expect(resolved({ ...both, prepareNetwork: { blockAll: false } }).prepareNetwork).toEqual({
      blockAll: false,
    })
    expect(resolved({ hasPrepare: true, prepareNetwork: { allowDomains: [] } })).toMatchObject({
      network: { blockAll: false },
      prepareNetwork: { blockAll: true },
    })
  })

  test("R218 R251 without prepare, preparation reads as fully blocked whatever the runtime network is", () => {
    for (const network of [undefined, { blockAll: false }, { allowDomains: ["api.example.com"] }])
      expect(resolved({ network })).toMatchObject({ prepareNetwork: { blockAll: true }, prepareSecrets: [] })
  })

  test("R218 without prepare, an explicit prepareNetwork and a non-empty prepareSecrets are refused by name", () => {
    for (const prepareNetwork of [{ blockAll: true }, { blockAll: false }, { allowDomains: [] }, null])
      expect(refusedField({ prepareNetwork })).toBe(`${at}.prepareNetwork`)
    expect(refusedField({ prepareSecrets: [secret] })).toBe(`${at}.prepareSecrets`)
    expect(refusedField({ prepareSecrets: {} })).toBe(`${at}.prepareSecrets`)
    expect(resolved({ prepareSecrets: [] }).prepareSecrets).toEqual([])
  })

  test("secrets are not inherited by preparation", () => {
    expect(resolved({ hasPrepare: true, secrets: [secret] }).prepareSecrets).toEqual([])
    expect(resolved({ hasPrepare: true, prepareSecrets: [secret] }).secrets).toEqual([])
  })

  test("R254 what is refused is named in the phase where it stands", () => {
    const bad = { allowDomains: ["ok.example.com", { domain: "x.example.com", ipRanges: ["10.0.0.0/8"] }] }
    expect(refusedField({ network: bad })).toBe(`${at}.network.allowDomains[1].ipRanges[0]`)
    expect(refusedField({ hasPrepare: true, prepareNetwork: bad })).toBe(
      `${at}.prepareNetwork.allowDomains[1].ipRanges[0]`,
    )
    expect(refusedField({ hasPrepare: true, prepareSecrets: [{ ...secret, env: {} }] })).toBe(
      `${at}.prepareSecrets[0].env.name`,
    )
    expect(refusedField({ secrets: [{ secret: "" }] })).toBe(`${at}.secrets[0].secret`)
  })
})

describe("R220 the identity of a preparation", () => {
  const bundle = (fill: string) => Digest.parse(fill.repeat(64))
  const workdir: ImageStep = { kind: "workdir", path: "/workspace" }
  const identity = (
    written: Partial<WrittenPolicies>,
    { steps = [workdir], fill = "a" }: { steps?: ImageStep[]; fill?: string } = {},
  ) => {
    const policies = resolved(written)
    const template = { image: { name: "i", steps }, hasPrepare: written.hasPrepare ?? false, ...policies }
    return preparationIdentity(template, bundle(fill))
  }

  test("R220 differs with the resolved policy of the stage, inherited or given, and with its secrets", () => {
    const all: readonly Partial<WrittenPolicies>[] = [
      {},
      { hasPrepare: true },
      { hasPrepare: true, network: { blockAll: true } },
      { hasPrepare: true, network: { allowDomains: ["a.example.com"] } },
      { hasPrepare: true, prepareNetwork: { allowDomains: ["b.example.com"] } },
      { hasPrepare: true, prepareSecrets: [secret] },
    ]
    expect(new Set(all.map((written) => identity(written))).size).toBe(all.length)
  })

  test("R220 is the same for policies that mean the same", () => {
    expect(identity({ hasPrepare: true, network: { allowDomains: [] } })).toBe(
      identity({ hasPrepare: true, prepareNetwork: { blockAll: true } }),
    )
    expect(
      identity({ hasPrepare: true, network: { allowDomains: ["B.example.com.", "a.example.com"] } }),
    ).toBe(identity({ hasPrepare: true, network: { allowDomains: ["a.example.com", "b.example.com"] } }))
  })

  test("the runtime network of a Template without prepare is no part of it", () => {
    expect(identity({ network: { blockAll: true } })).toBe(identity({}))
  })

  test("the image always takes part, the program where its prepare runs", () => {
    expect(identity({}, { steps: [] })).not.toBe(identity({}))
    expect(identity({}, { fill: "b" })).toBe(identity({}))
    expect(identity({ hasPrepare: true }, { fill: "b" })).not.toBe(identity({ hasPrepare: true }))
  })
})
