/** Writes the OpenAPI document beside the other documents: `bun run openapi`. */
import { join } from "node:path"
import { openApiText } from "@computerd/control-plane/api/openapi"
import { repository } from "../publication/rig.ts"

await Bun.write(join(repository, "docs/openapi.json"), openApiText())
