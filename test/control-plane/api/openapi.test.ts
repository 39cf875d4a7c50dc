import { afterAll, beforeAll, expect, test } from "bun:test"
import { join } from "node:path"
import { openApiText } from "@computerd/control-plane/api/openapi"
import { Permission } from "@computerd/protocol/api/permissions"
import { allRoutes } from "@computerd/protocol/api/routes"
import { Validator } from "@seriousme/openapi-schema-validator"
import { repository } from "../publication/rig.ts"
import { type ApiRig, createRig } from "./rig.ts"

let rig: ApiRig
beforeAll(async () => {
  rig = await createRig()
})
afterAll(() => rig.close())

interface Operation {
  readonly operationId: string
  readonly "x-permission": string | null
  readonly security: readonly unknown[]
}
const document: {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>
  readonly components: { readonly schemas: Readonly<Record<string, unknown>> }
} = JSON.parse(openApiText())

const operations = Object.entries(document.paths).flatMap(([path, methods]) =>
  Object.entries(methods).map(([method, operation]) => ({ path, method: method.toUpperCase(), operation })),
)

test("the document is a valid one of OpenAPI 3.1", async () => {
  const validator = new Validator()
  const result = await validator.validate(JSON.parse(openApiText()))
  expect(result).toEqual({ valid: true })
  expect(validator.version).toBe("3.1")
})

test("every reference in it leads somewhere", () => {
  const references = [...openApiText().matchAll(/"\$ref": "([^"]+)"/g)].map(([, to]) => to ?? "")
  expect(references.length).toBeGreaterThan(0)
  const known = Object.keys(document.components.schemas).map((name) => `#/components/schemas/${name}`)
  expect(references.filter((to) => !known.includes(to))).toEqual([])
})

test("it lists exactly the routes that there are, each with its permission", () => {
  const listed = operations
    .filter(({ operation }) => operation.operationId !== "getOpenApi")
    .map(({ path, method, operation }) => [method, path, operation.operationId, operation["x-permission"]])
  const routes = allRoutes.map(({ method, path, name, permission }) => [
    method,
    path.replaceAll(/:(\w+)/g, "{$1}"),
    name,
    permission,
  ])
  expect(listed.toSorted()).toEqual(routes.toSorted())
  const permissions = new Set(routes.map(([, , , permission]) => permission))
  expect([...permissions].toSorted()).toEqual(Permission.options.toSorted())
})

test("every route of the document is served, and nothing else is", async () => {
  for (const { path, method } of operations) {
    const response = await fetch(`${rig.url}${path.replaceAll(/\{\w+\}/g, "x")}`, { method })
    expect([path, method, response.status]).toEqual([path, method, path === "/v1/openapi.json" ? 200 : 401])
  }
  for (const path of ["/", "/v1", "/v1/keys", "/healthz", "/v1/sessions/x/y"])
    expect((await fetch(`${rig.url}${path}`)).status).toBe(404)
})

test("anybody reads it, and the copy beside the documents is the same text", async () => {
  const response = await fetch(`${rig.url}/v1/openapi.json`)
  expect(response.headers.get("content-type")).toBe("application/json")
  const served = await response.text()
  expect(served).toBe(openApiText())
  expect(await Bun.file(join(repository, "docs/openapi.json")).text()).toBe(served)
})
