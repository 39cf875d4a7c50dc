/** The error envelope of every refusal. */
import { z } from "zod"
import { Failure } from "../errors.ts"

export const ApiError = z
  .object({ error: z.object(Failure.shape) })
  .describe("`code` is stable, `message` is for people, `field` is a path into the request.")
export type ApiError = Readonly<z.infer<typeof ApiError>>
