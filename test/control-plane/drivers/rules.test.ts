import { describe, expect, test } from "bun:test"
import { localNotices, pendingReason } from "@computerd/control-plane/drivers/local/honour"
import { reasonOf } from "@computerd/control-plane/drivers/local/last-words"
import { copyPlans } from "@computerd/control-plane/drivers/local/layout"
import { chooseSlice, portSlices } from "@computerd/control-plane/drivers/local/port-slices"
import { afterDeath, restartPolicy } from "@computerd/control-plane/drivers/local/restarts"
import { createSlots } from "@computerd/control-plane/slots"
import { Digest } from "@computerd/protocol/ids"
import type { ImageStep, TemplateManifest } from "@computerd/protocol/manifest"
import fc from "fast-check"
import { agentOf, manifestOf, templateOf } from "../rig.ts"

const layer = Digest.parse("a".repeat(64))
const copy = (destination: string): ImageStep => ({ kind: "copy", layer, destination })
const workdir = (path: string): ImageStep => ({ kind: "workdir", path })
const places = (...steps: readonly ImageStep[]) =>
  copyPlans(steps).map((plan) => (plan.kind === "inside" ? plan.path : `outside: ${plan.destination}`))

describe("where copy steps go", () => {
  test("the workdir is the workspace and what lies below it is inside", () => {
    expect(places(copy("/workspace"), copy("/workspace/a/b/"), workdir("/workspace"))).toEqual(["", "a/b"])
    expect(places(copy("/workspace"), copy("/etc/x"), workdir("/workspace/"))).toEqual([
      "",
      "outside: /etc/x",
    ])
    expect(places(copy("/workspace-2"), workdir("/workspace"))).toEqual(["outside: /workspace-2"])
  })

  test("without a workdir the root is the workspace", () => {
    expect(places(copy("/workspace"), copy("/"))).toEqual(["workspace", ""])
  })

  test("relative destinations start at the workdir in force, and the last workdir counts", () => {
    expect(places(copy("a"), workdir("/srv"))).toEqual(["a"])
    expect(places(workdir("/srv"), copy("a"), workdir("/srv/deep"), copy("b"))).toEqual([
      "outside: /srv/a",
      "b",
    ])
    expect(places(workdir("/srv"), copy("/srv/x/../y"))).toEqual(["y"])
  })

  test("a plan inside never leads out of the workspace, whatever was written", () => {
    const path = fc
      .array(fc.constantFrom("..", ".", "a", "b c", "", "work"), { maxLength: 6 })
      .map((parts) => parts.join("/"))
    fc.assert(
      fc.property(
        fc.array(
          fc.oneof(
            path.map(copy),
            path.map((at) => workdir(`/${at}`)),
          ),
          { maxLength: 6 },
        ),
        (steps) =>
          copyPlans(steps).every(
            (plan) =>
              plan.kind === "outside" || !(plan.path.startsWith("/") || `${plan.path}/`.startsWith("../")),
          ),
      ),
    )
  })
})

describe("what the local driver honours", () => {
  const template = (changes: Partial<TemplateManifest>) => templateOf("t", changes)
  const secrets = [
    {
      secret: "KEY",
      env: { name: "KEY", mode: "protected" as const, allowedOrigins: ["https://x.example"] },
    },
  ]
  const closed: readonly (readonly [Partial<TemplateManifest>, string])[] = [
    [{ network: { blockAll: true } }, "network"],
    [{ network: { allowDomains: ["x.example"] } }, "network"],
    [{ network: { allowDomains: [{ domain: "x.example", ipRanges: ["10.0.0.0/8"] }] } }, "network"],
    [{ secrets }, "secrets"],
    [{ network: { blockAll: true }, secrets }, "network and secrets"],
  ]

  test("H1 ordinary connectivity and no secrets run", () => {
    expect(pendingReason(template({ network: { blockAll: false }, secrets: [] }), false)).toBeUndefined()
  })

  test("H1 R255 any other policy keeps the Template pending with the reason, unless policies may go unenforced", () => {
    for (const [changes, what] of closed) {
      expect(pendingReason(template(changes), false)).toContain(`cannot enforce the ${what} of Template t`)
      expect(pendingReason(template(changes), true)).toBeUndefined()
    }
  })

  test("H2 a Template with prepare stays pending in any case", () => {
    for (const unenforced of [false, true])
      expect(pendingReason(template({ hasPrepare: true }), unenforced)).toContain("has prepare")
  })

  test("publication says once what is left out", () => {
    const steps = [{ kind: "from" as const, reference: "node:24" }, copy("/etc/x"), workdir("/w")]
    const templates = [
      templateOf("a", { image: { name: "a", steps } }),
      templateOf("b", { image: { name: "b", steps: steps.slice(0, 1) }, network: { blockAll: true } }),
    ]
    const notices = localNotices(manifestOf([agentOf("x")], templates), false)
    expect(notices.filter((notice) => notice.includes("node:24"))).toHaveLength(1)
    expect(notices.filter((notice) => notice.includes("not limits"))).toHaveLength(1)
    expect(notices).toContain("copy to /etc/x of Template a lies outside its workdir and is left out")
    expect(notices.some((notice) => notice.includes("cannot enforce the network of Template b"))).toBe(true)
  })
})

describe("port slices", () => {
  const range = fc
    .tuple(fc.integer({ min: 1024, max: 65_535 }), fc.integer({ min: 1024, max: 65_535 }))
    .map(([a, b]) => ({ first: Math.min(a, b), last: Math.max(a, b) }))

  test("slices never overlap and stay out of the ephemeral range, whatever that is", () => {
    fc.assert(
      fc.property(range, (ephemeral) => {
        const slices = portSlices(ephemeral)
        const apart = slices.every((slice, index) => index === 0 || slice.first > slices[index - 1]!.last)
        const covered = ephemeral.first <= 10_127 && ephemeral.last >= 65_408
        return (
          apart &&
          slices.length > 0 &&
          (covered || slices.every((slice) => slice.last < ephemeral.first || slice.first > ephemeral.last))
        )
      }),
    )
  })

  test("each Computer gets a slice of its own while there is one, and then the least used", () => {
    const slices = portSlices({ first: 32_768, last: 60_999 })
    const taken: { first: number; last: number }[] = []
    for (let n = 0; n < slices.length * 2; n += 1) taken.push(chooseSlice(slices, taken, 5)!)
    expect(new Set(taken.slice(0, slices.length).map((slice) => slice.first)).size).toBe(slices.length)
    expect(new Set(taken.slice(slices.length).map((slice) => slice.first)).size).toBe(slices.length)
    expect(taken[0]).toEqual(slices[5]!)
  })
})

describe("slots", () => {
  test("no more than the bound run at once, and whoever gives up leaves the queue", async () => {
    const slots = createSlots(2)
    const forever = new AbortController().signal
    const first = await slots.take(forever)
    await slots.take(forever)
    const impatient = new AbortController()
    const left = slots.take(impatient.signal)
    const waiting = slots.take(forever)
    impatient.abort(new Error("no more"))
    await expect(left).rejects.toThrow("no more")
    let entered = false
    const done = waiting.then(() => {
      entered = true
    })
    await Promise.resolve()
    expect(entered).toBe(false)
    first()
    first()
    await done
    expect(entered).toBe(true)
    const blocked = slots.take(AbortSignal.abort(new Error("late")))
    await expect(blocked).rejects.toThrow("late")
  })
})

test("DR1 DR2 a supervisor is started again at once, then after growing waits, then no more; leaps of the clock restart nothing", () => {
  fc.assert(
    fc.property(fc.array(fc.nat({ max: 3_000 }), { minLength: 1, maxLength: 60 }), (gaps) => {
      let deaths: readonly number[] = []
      let now = 1_000_000
      for (const gap of gaps) {
        now += gap
        const recent = deaths.filter((at) => now - at <= restartPolicy.windowMs).length
        const restart = afterDeath(deaths, now)
        expect(restart.do).toBe(recent >= restartPolicy.deathsMax ? "give_up" : "start")
        if (restart.do === "give_up") return
        if (recent === 0) expect(restart.delayMs).toBe(0)
        else
          expect(restart.delayMs).toBe(
            Math.min(restartPolicy.delayMaxMs, restartPolicy.firstDelayMs * 2 ** (recent - 1)),
          )
        deaths = restart.deaths
      }
    }),
  )
  const day = 24 * 60 * 60 * 1000
  const many = Array.from({ length: restartPolicy.deathsMax }, (_, index) => day + index)
  expect(afterDeath(many, day + 100)).toMatchObject({ do: "give_up" })
  for (const now of [0, 2 * day])
    expect(afterDeath(many, now)).toEqual({ do: "start", delayMs: 0, deaths: [now] })
})

describe("why a supervisor ended", () => {
  const info = '{"level":30,"time":"t","event":"daemon_stopped","message":"no reason"}'
  const fault = '{"level":50,"time":"t","event":"unhandled_fault","message":"boom\\n  at x"}'
  const refused = '{"level":50,"time":"t","event":"store_failed"}'

  test("a plain line is the reason, whatever the log says around it", () => {
    expect(reasonOf(`${info}\ncomputerd: internal: no luck\n${info}\n`, "code")).toBe(
      "computerd: internal: no luck",
    )
  })

  test("of the log only the message of an error counts, never its fields", () => {
    expect(reasonOf(`${info}\n${fault}\n${info}\n`, "code")).toBe("boom   at x")
    expect(reasonOf(`${info}\n${refused}\n`, "code")).toBe("")
    expect(reasonOf('{"level":30,"broken', "code")).toBe("")
    expect(reasonOf("", "code")).toBe("")
  })

  test("a signal is not explained by what was said before other things", () => {
    expect(reasonOf(`warning: old\n${info}\n`, "signal")).toBe("")
    expect(reasonOf(`${info}\npanic: out of memory\n`, "signal")).toBe("panic: out of memory")
  })
})
