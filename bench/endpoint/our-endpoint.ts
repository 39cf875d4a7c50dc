/** Our endpoint with every check on; a remote tool is answered by a stub. */
import { timingSafeEqual } from "node:crypto"
import { createEndpoint, type Endpoint } from "../../runtime-mcp/endpoint/endpoint.ts"
import { unrestricted } from "../../runtime-mcp/policy/scope.ts"
import { answerText, token } from "./workload.ts"

const value = JSON.parse(answerText)
const expected = Buffer.from(token)
const same = (text: string): boolean => {
  const given = Buffer.from(text)
  return given.length === expected.length && timingSafeEqual(given, expected)
}

export const benchEndpoint = (): Endpoint => {
  const made = createEndpoint({
    port: 0,
    role: "root",
    clock: { monotonicMs: () => performance.now() },
    timers: {
      after: (delayMs, fire) => {
        const timer = setTimeout(fire, delayMs)
        return () => clearTimeout(timer)
      },
    },
    descriptor: (authorization) => (same(authorization) ? { scope: unrestricted, id: "maximum" } : undefined),
    admission: () => "open",
    invoke: async () => ({ ok: true, value }),
    fault: (error) => console.error(error),
  })
  if (!made.ok) throw new Error(made.error.message)
  return made.value
}
