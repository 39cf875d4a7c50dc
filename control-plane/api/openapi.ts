/** The OpenAPI 3.1 document of the public API, made from the table of its routes. */
import { Agent } from "@computerd/protocol/api/agents"
import { Computer } from "@computerd/protocol/api/computers"
import { Deployment } from "@computerd/protocol/api/deployments"
import { ApiError } from "@computerd/protocol/api/errors"
import { SessionEvent } from "@computerd/protocol/api/events"
import { permissionTexts } from "@computerd/protocol/api/permissions"
import { Question } from "@computerd/protocol/api/questions"
import type { AnswerForm, BodyForm, Route } from "@computerd/protocol/api/route"
import { allRoutes, openApiPath } from "@computerd/protocol/api/routes"
import { Session } from "@computerd/protocol/api/sessions"
import { Template } from "@computerd/protocol/api/templates"
import { Turn } from "@computerd/protocol/api/turns"
import { Content, type Json, JsonValue } from "@computerd/protocol/content"
import { NormalRule } from "@computerd/protocol/scope"
import { z } from "zod"

type Schema = { readonly [keyword: string]: Json }

const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value)

/** Schemas that have a name of their own in the document; others stand where they are used. */
const named = z.registry<{ readonly id: string }>()
for (const [id, schema] of Object.entries({
  Agent,
  Computer,
  Content,
  Deployment,
  Error: ApiError,
  Json: JsonValue,
  Question,
  RuntimeMcpRule: NormalRule,
  Session,
  SessionEvent,
  Template,
  Turn,
}))
  named.add(schema, { id })

/** What schemas say of themselves for readers; a format says enough without the pattern that checks it. */
const describe: z.core.ToJSONSchemaParams["override"] = ({ zodSchema, jsonSchema }) => {
  const description = z.globalRegistry.get(zodSchema)?.description
  if (description !== undefined) jsonSchema.description = description
  if (jsonSchema.format === "date-time") delete jsonSchema.pattern
}

const componentOf = (id: string): string => `#/components/schemas/${id}`

const plain = (value: unknown): Schema =>
  JSON.parse(JSON.stringify(value).replaceAll('"#/$defs/', `"${componentOf("")}`))

/** As a request is written: fields with a default may be left out, and answers may have fields that are not listed. */
const schemaOf = (schema: z.ZodType): Schema => {
  const id = named.get(schema)?.id
  if (id !== undefined) return { $ref: componentOf(id) }
  // What has a name is under it in the components.
  const {
    $schema: _,
    $defs: __,
    ...body
  } = z.toJSONSchema(schema, {
    io: "input",
    metadata: named,
    override: describe,
  })
  return plain(body)
}

const components = (): Record<string, Schema> => {
  const { schemas } = z.toJSONSchema(named, { io: "input", uri: componentOf, override: describe })
  return Object.fromEntries(
    Object.entries(schemas).map(([id, { $schema: _, $id: __, ...schema }]) => [id, plain(schema)]),
  )
}

interface Parameter {
  readonly name: string
  readonly in: "path" | "query"
  readonly required: boolean
  readonly schema: Schema
}

const parametersOf = (schema: z.ZodType, where: Parameter["in"]): readonly Parameter[] => {
  const { properties, required } = schemaOf(schema)
  if (!isRecord(properties)) return []
  const needed = Array.isArray(required) ? required : []
  return Object.entries(properties).map(([name, one]) => ({
    name,
    in: where,
    required: needed.includes(name),
    schema: JSON.parse(JSON.stringify(one)),
  }))
}

const resumes: Schema = {
  name: "Last-Event-ID",
  in: "header",
  required: false,
  description: "As `after`; what a reconnecting reader of server-sent events sends.",
  schema: { type: "string" },
}

const bodyOf = (body: BodyForm): Json | undefined => {
  switch (body.kind) {
    case "none":
      return undefined
    case "json":
      return { required: true, content: { "application/json": { schema: schemaOf(body.schema) } } }
    case "archive":
      return {
        required: true,
        description:
          "An uncompressed tar archive of files and directories; its root is the program's directory.",
        content: { "application/x-tar": { schema: { type: "string", format: "binary" } } },
      }
  }
}

const answersOf = (answer: AnswerForm): Record<string, Json> => {
  const refused = {
    description: "A refusal; its code says which.",
    content: { "application/json": { schema: { $ref: "#/components/schemas/Error" } } },
  }
  if (answer.kind === "json") {
    const done = {
      description: "Done.",
      content: { "application/json": { schema: schemaOf(answer.schema) } },
    }
    return { [answer.status]: done, default: refused }
  }
  const stream = {
    description:
      "Server-sent events. The data of each is one JSON value of this schema, its id the cursor after it.",
    content: { "text/event-stream": { schema: schemaOf(answer.schema) } },
  }
  const over = { description: "Nothing follows and nothing will: the Session is closed." }
  return { "200": stream, "204": over, default: refused }
}

const operationOf = (route: Route): Json => {
  const body = bodyOf(route.body)
  const parameters = [...parametersOf(route.params, "path"), ...parametersOf(route.query, "query")]
  return JSON.parse(
    JSON.stringify({
      operationId: route.name,
      description: route.description,
      "x-permission": route.permission,
      security: route.permission === null ? [] : [{ apiKey: [] }],
      parameters: route.answer.kind === "stream" ? [...parameters, resumes] : parameters,
      ...(body === undefined ? {} : { requestBody: body }),
      responses: answersOf(route.answer),
    }),
  )
}

const templated = (path: string): string => path.replaceAll(/:(\w+)/g, "{$1}")

const pathsOf = (routes: readonly Route[]): Record<string, Record<string, Json>> => {
  const paths: Record<string, Record<string, Json>> = {}
  for (const route of routes) {
    const path = templated(route.path)
    paths[path] = { ...paths[path], [route.method.toLowerCase()]: operationOf(route) }
  }
  return paths
}

/** The document describes itself: anybody may read it. */
const self: Json = {
  get: {
    operationId: "getOpenApi",
    description: "Reads this document.",
    "x-permission": null,
    security: [],
    parameters: [],
    responses: {
      "200": { description: "Done.", content: { "application/json": { schema: { type: "object" } } } },
    },
  },
}

const permissions = Object.entries(permissionTexts)
  .map(([name, text]) => `- \`${name}\`: ${text}`)
  .join("\n")

export const openApiDocument = (): { readonly [field: string]: Json } => ({
  openapi: "3.1.0",
  info: {
    title: "computerd public API",
    version: "1",
    description: `Every operation names in \`x-permission\` what its key needs.\n\n${permissions}`,
  },
  paths: { ...pathsOf(allRoutes), [openApiPath]: self },
  components: {
    securitySchemes: { apiKey: { type: "http", scheme: "bearer", description: "An API key, hlm_…" } },
    schemas: components(),
  },
})

/** As it is served, and as docs/openapi.json holds it. */
export const openApiText = (): string => `${JSON.stringify(openApiDocument(), undefined, 2)}\n`
