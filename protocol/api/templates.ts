/** Templates as a Deployment pins them. */
import { z } from "zod"
import { DefinitionKey, DeploymentId } from "../ids.ts"
import { TemplateManifest } from "../manifest.ts"
import { deploymentPin } from "./agents.ts"
import { nextCursor, noParams, pageQuery } from "./fields.ts"
import { route } from "./route.ts"

/** Everything that publication resolved, in the shape of the manifest. */
export const Template = z.object({ ...TemplateManifest.shape, deploymentId: DeploymentId })
export type Template = Readonly<z.infer<typeof Template>>

export const TemplatePage = z.object({
  deploymentId: DeploymentId,
  templates: z.array(Template),
  nextCursor,
})
export type TemplatePage = Readonly<z.infer<typeof TemplatePage>>

export const templateRoutes = {
  list: route({
    name: "listTemplates",
    method: "GET",
    path: "/v1/templates",
    permission: "deployments:read",
    description: "Lists the Templates of one Deployment by key.",
    params: noParams,
    query: z.strictObject({ ...pageQuery, deploymentId: deploymentPin }),
    body: { kind: "none" },
    answer: { kind: "json", status: 200, schema: TemplatePage },
  }),
  get: route({
    name: "getTemplate",
    method: "GET",
    path: "/v1/templates/:template",
    permission: "deployments:read",
    description: "Reads one Template with its resolved policies.",
    params: z.strictObject({ template: DefinitionKey }),
    query: z.strictObject({ deploymentId: deploymentPin }),
    body: { kind: "none" },
    answer: { kind: "json", status: 200, schema: Template },
  }),
}
