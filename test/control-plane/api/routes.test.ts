import { afterAll, beforeAll, describe, expect, test } from "bun:test"
import { Permission } from "@computerd/protocol/api/permissions"
import type { Route } from "@computerd/protocol/api/route"
import { allRoutes } from "@computerd/protocol/api/routes"
import { type ApiRig, answerOf, createRig } from "./rig.ts"

let rig: ApiRig
beforeAll(async () => {
  rig = await createRig()
})
afterAll(() => rig.close())

const ids: Readonly<Record<string, string>> = {
  deploymentId: "dep",
  computerId: "cmp",
  sessionId: "ses",
  turnId: "trn",
  questionId: "qst",
}
const unknownId = (prefix: string): string => `${prefix}_01900000-0000-7000-8000-ffffffffffff`

const pathOf = (route: Route): string =>
  route.path.replaceAll(/:(\w+)/g, (_, name) => (ids[name] === undefined ? "absent" : unknownId(ids[name])))

const ask = async (route: Route, key?: string) =>
  answerOf(
    await fetch(`${rig.url}${pathOf(route)}`, {
      method: route.method,
      ...(key === undefined ? {} : { headers: { Authorization: `Bearer ${key}` } }),
      ...(route.method === "POST" ? { body: "{}" } : {}),
    }),
  )

const refusal = (answer: Awaited<ReturnType<typeof ask>>) => ({
  status: answer.status,
  code: answer.body?.error?.code,
})

describe.each(allRoutes.map((route) => [route.name, route] as const))("%s", (_, route) => {
  test("is refused without a key, and with one that nobody made", async () => {
    expect(refusal(await ask(route))).toEqual({ status: 401, code: "unauthorized" })
    const wrong = `hlm_${"0".repeat(32)}_${"0".repeat(64)}`
    expect(refusal(await ask(route, wrong))).toEqual({ status: 401, code: "unauthorized" })
  })

  test("is refused to a key that has every permission but its own, which is named", async () => {
    const lacking = rig.client(Permission.options.filter((one) => one !== route.permission))
    const answer = await ask(route, lacking.key)
    expect(refusal(answer)).toEqual({ status: 403, code: "permission_denied" })
    expect(answer.body.error.message).toContain(String(route.permission))
  })

  test("goes past its permission with a key that has that one alone", async () => {
    if (route.permission === null) throw new Error("the route states no permission")
    const fitting = rig.client([route.permission])
    expect([200, 400, 404]).toContain((await ask(route, fitting.key)).status)
  })
})

test("every route has a name and a place of its own", () => {
  const places = allRoutes.map(({ method, path }) => `${method} ${path.replaceAll(/:\w+/g, ":")}`)
  expect(new Set(places).size).toBe(allRoutes.length)
  expect(new Set(allRoutes.map(({ name }) => name)).size).toBe(allRoutes.length)
})

test("an unknown path is not found, and a known one names its methods", async () => {
  const absent = await answerOf(await fetch(`${rig.url}/v1/absent`))
  expect(refusal(absent)).toEqual({ status: 404, code: "not_found" })
  const astray = await answerOf(await fetch(`${rig.url}/v1/sessions`, { method: "PUT" }))
  expect(refusal(astray)).toEqual({ status: 405, code: "method_not_allowed" })
  expect(astray.headers.get("allow")).toBe("POST, GET")
})

test("the parts of a key are compared whole: a right id with another secret is refused", async () => {
  const { key } = rig.client()
  const changed = `${key.slice(0, -1)}${key.endsWith("0") ? "1" : "0"}`
  for (const wrong of [changed, key.slice(0, -1), `${key}0`, key.toUpperCase(), ""]) {
    const response = await fetch(`${rig.url}/v1/sessions`, { headers: { Authorization: `Bearer ${wrong}` } })
    expect(response.status).toBe(401)
  }
})
