/**
 * One route of the public API, as a value: the server routes by it, the OpenAPI document and the tests are made from it,
 * and clients take paths and types from it. Requests are strict; readers of answers ignore fields that they do not know.
 */
import type { z } from "zod"
import type { Permission } from "./permissions.ts"

export type Method = "GET" | "POST" | "DELETE"

export type BodyForm =
  | { readonly kind: "none" }
  | {
      readonly kind: "json"
      readonly schema: z.ZodType
      /** The field that holds content, whose problems have codes of their own. */
      readonly content?: string
    }
  /** An uploaded program: a tar archive whose root is the program's directory. */
  | { readonly kind: "archive" }

export type AnswerForm =
  | { readonly kind: "json"; readonly status: 200 | 201; readonly schema: z.ZodType }
  /** Server-sent events, each with one value of the schema; 204 when nothing follows and nothing will. */
  | { readonly kind: "stream"; readonly schema: z.ZodType }

export interface Route {
  /** Unique; how clients and the OpenAPI document call it. */
  readonly name: string
  readonly method: Method
  /** Parameters as `:name`. */
  readonly path: `/v1/${string}`
  /** `null`: anybody may ask. */
  readonly permission: Permission | null
  readonly description: string
  readonly params: z.ZodType
  readonly query: z.ZodType
  readonly body: BodyForm
  readonly answer: AnswerForm
}

/** Keeps the exact types of what it is given. */
export const route = <const Given extends Route>(given: Given): Given => given

/** What a client sends and a handler receives. */
export type ParamsOf<Given extends Route> = z.infer<Given["params"]>
export type QueryOf<Given extends Route> = z.infer<Given["query"]>
export type BodyOf<Given extends Route> = Given["body"] extends {
  readonly kind: "json"
  readonly schema: infer Schema extends z.ZodType
}
  ? z.infer<Schema>
  : undefined
export type AnswerOf<Given extends Route> = z.infer<Given["answer"]["schema"]>

/** The same before a schema has filled in what may be left out, and without brands: what a caller writes. */
export type ParamsInputOf<Given extends Route> = z.input<Given["params"]>
export type QueryInputOf<Given extends Route> = z.input<Given["query"]>
export type BodyInputOf<Given extends Route> = Given["body"] extends {
  readonly kind: "json"
  readonly schema: infer Schema extends z.ZodType
}
  ? z.input<Schema>
  : undefined
