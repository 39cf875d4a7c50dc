/** Computers that are made and removed from outside. */
import { fail, ok, type Result } from "@computerd/protocol/errors"
import type { ComputerId } from "@computerd/protocol/ids"
import { retire } from "../computers.ts"
import type { Computer, Deployment } from "../entities.ts"
import { makeComputer } from "../making.ts"
import { outsideMutation } from "./call.ts"
import { computerIn, deploymentIn } from "./reach.ts"

export interface CreateComputer {
  readonly template: string
  readonly key?: string | undefined
  readonly idempotencyKey: string
}

export interface DeleteComputer {
  readonly computerId: ComputerId
  readonly idempotencyKey: string
}

/** The current Deployment is chosen once: a repeated request finds the first one's Computer. */
export const createComputer = outsideMutation<CreateComputer, undefined>("createComputer", {
  resolve: () => ok(undefined),
  effect: (call) => {
    const { draft, environment, arguments: asked, given } = call
    const deployment = deploymentIn(call, undefined)
    if (!deployment.ok) return deployment
    const template = templateOf(deployment.value, asked.template)
    if (!template.ok) return template
    const key = asked.key ?? null
    if (key !== null && draft.state.computerByKey(environment, key) !== undefined)
      return fail("invalid_arguments", "key belongs to a Computer that is not deleted; choose another", "key")
    const pin = { deployment: deployment.value, template: template.value, key }
    const computer = makeComputer(draft, pin, given)
    return ok({
      computerId: computer.id,
      template: computer.template,
      deploymentId: computer.deploymentId,
    })
  },
})

const templateOf = ({ id, manifest }: Deployment, key: string): Result<string> =>
  manifest.templates.some((template) => template.id === key)
    ? ok(key)
    : fail("target_not_published", `Deployment ${id} has no Template of this key`, "template")

/** Nothing that still may run is deleted under it. */
export const deleteComputer = outsideMutation<DeleteComputer, Computer>("deleteComputer", {
  resolve: (call) => computerIn(call, call.arguments.computerId),
  effect: ({ draft, given }, computer) => {
    const { id: computerId, status } = computer
    if (status !== "available") return ok({ computerId, status })
    if (draft.openSessionsOn(computerId, 1).length > 0)
      return fail(
        "computer_in_use",
        "the Computer has Sessions that are not closed; close or cancel them first",
      )
    retire(draft, computer, given)
    return ok({ computerId, status: "deleting" })
  },
})
