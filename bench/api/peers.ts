/**
 * What the same requests cost without us: a bearer check, zod, one row and one commit for each mutation, and an event for
 * everybody who listens. `bun peers.ts raw` is `Bun.serve` alone, `bun peers.ts elysia` has Elysia route and validate.
 */
import { Elysia } from "elysia"
import { z } from "zod"
import { createBareCommits } from "../receiver/commits.ts"

const key = "hlm_bench"
const bare = createBareCommits()
const encoder = new TextEncoder()
const listeners = new Set<ReadableStreamDefaultController<Uint8Array>>()
const now = new Date().toISOString()
const answer = {
  id: "ses_00000000-0000-7000-8000-000000000000",
  key: null,
  agent: "lead",
  template: "basic",
  deploymentId: "dep_00000000-0000-7000-8000-000000000000",
  computerId: "cmp_00000000-0000-7000-8000-000000000000",
  rootSessionId: "ses_00000000-0000-7000-8000-000000000000",
  parentSessionId: null,
  requesterSessionId: null,
  initialTurn: { id: "trn_00000000-0000-7000-8000-000000000000", status: "queued" },
  status: "open",
  process: "ready",
  generation: 1,
  closeAfterIdleMs: null,
  idleSince: null,
  holds: [],
  createdAt: now,
  closedAt: null,
}

const Params = z.strictObject({ sessionId: z.string().regex(/^ses_[0-9a-f-]{36}$/) })
const Body = z.strictObject({
  input: z.array(z.strictObject({ type: z.literal("text"), text: z.string() })),
  idempotencyKey: z.string().min(1).max(512),
})

const isAllowed = (request: Request): boolean => request.headers.get("authorization") === `Bearer ${key}`
const refuse = (status: number): Response => Response.json({ error: { code: "refused" } }, { status })

let sequence = 0
const tell = (): void => {
  sequence += 1
  const event = {
    cursor: String(sequence),
    sequence,
    sessionId: answer.id,
    at: now,
    type: "turn_queued",
    turnId: answer.initialTurn.id,
  }
  const frame = encoder.encode(`id: ${sequence}\nevent: turn_queued\ndata: ${JSON.stringify(event)}\n\n`)
  for (const listener of listeners) listener.enqueue(frame)
}

const enqueue = (): Response => {
  bare.commit()
  tell()
  return Response.json({ sessionId: answer.id, turnId: answer.initialTurn.id }, { status: 201 })
}

const stream = (): Response => {
  let own: ReadableStreamDefaultController<Uint8Array>
  const body = new ReadableStream<Uint8Array>({
    start: (controller) => {
      own = controller
      listeners.add(controller)
      controller.enqueue(encoder.encode(":\n\n"))
    },
    cancel: () => {
      listeners.delete(own)
    },
  })
  return new Response(body, { headers: { "Content-Type": "text/event-stream" } })
}

const raw = async (request: Request): Promise<Response> => {
  if (!isAllowed(request)) return refuse(401)
  const [, , , sessionId, what, how] = new URL(request.url).pathname.split("/")
  if (!Params.safeParse({ sessionId }).success) return refuse(400)
  if (how === "stream") return stream()
  if (what === undefined) return Response.json(answer)
  return Body.safeParse(await request.json()).success ? enqueue() : refuse(400)
}

const elysia = () => {
  const app = new Elysia()
    .onBeforeHandle(({ request }) => (isAllowed(request) ? undefined : refuse(401)))
    .get("/v1/sessions/:sessionId", () => answer, { params: Params })
    .get("/v1/sessions/:sessionId/events/stream", stream, { params: Params })
    .post("/v1/sessions/:sessionId/enqueue", enqueue, { params: Params, body: Body })
  return app.handle
}

const server = Bun.serve({
  hostname: "127.0.0.1",
  port: 0,
  idleTimeout: 255,
  fetch: process.argv[2] === "elysia" ? elysia() : raw,
})
console.log(JSON.stringify({ url: server.url.origin, key, sessionId: answer.id }))

await Bun.stdin.text()
await server.stop(true)
bare.close()
process.exit(0)
