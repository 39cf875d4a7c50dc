/** What changes something from outside. Calls that arrive together share a commit; each is durable when it resolves. */
import { CreatedComputer, DeletedComputer } from "@computerd/protocol/api/computers"
import { PublishedDeployment } from "@computerd/protocol/api/deployments"
import { AnsweredQuestion } from "@computerd/protocol/api/questions"
import {
  AcceptedControl,
  AcceptedMessage,
  AdmittedTurn,
  EndingSession,
} from "@computerd/protocol/api/sessions"
import { ok, type Result } from "@computerd/protocol/errors"
import type { EnvironmentKey } from "@computerd/protocol/ids"
import type { z } from "zod"
import { type StartRequest, startFromOutside } from "../../rules/client.ts"
import type { DecideOutside } from "../../rules/outside/call.ts"
import { createComputer, deleteComputer } from "../../rules/outside/computers.ts"
import {
  cancelFromOutside,
  closeFromOutside,
  interruptFromOutside,
  resumeFromOutside,
} from "../../rules/outside/controls.ts"
import {
  earlierPublication,
  type Publication,
  publishFromOutside,
  type Upload,
} from "../../rules/outside/publish.ts"
import { answerFromOutside, enqueueFromOutside, sendFromOutside } from "../../rules/outside/work.ts"
import type { Parts } from "../parts.ts"

export type Mutation<Arguments, Answer> = (
  environment: EnvironmentKey,
  asked: Arguments,
) => Promise<Result<Answer>>

/** Its answer is read back as it was stored: the first one and a repeated one have one form. */
const mutationOf =
  ({ commits }: Parts) =>
  <Arguments, Answer>(
    decide: DecideOutside<Arguments>,
    form: z.ZodType<Answer>,
  ): Mutation<Arguments, Answer> =>
  async (environment, asked) => {
    const done = await commits.grouped("outside", (draft, given) =>
      decide({ draft, environment, arguments: asked, given }),
    )
    return done.ok ? ok(form.parse(done.value.answer)) : done
  }

export const outsideMutations = (parts: Parts) => {
  const mutation = mutationOf(parts)
  return {
    start: mutation(
      ({ draft, environment, arguments: asked, given }) =>
        startFromOutside(draft, { ...asked, environment }, given),
      AdmittedTurn,
    ) satisfies Mutation<Omit<StartRequest, "environment">, AdmittedTurn>,
    enqueue: mutation(enqueueFromOutside, AdmittedTurn),
    send: mutation(sendFromOutside, AcceptedMessage),
    answer: mutation(answerFromOutside, AnsweredQuestion),
    interrupt: mutation(interruptFromOutside, AcceptedControl),
    resume: mutation(resumeFromOutside, AcceptedControl),
    close: mutation(closeFromOutside, EndingSession),
    cancel: mutation(cancelFromOutside, EndingSession),
    createComputer: mutation(createComputer, CreatedComputer),
    deleteComputer: mutation(deleteComputer, DeletedComputer),
    /** What the upload was answered before, if it was. */
    earlierPublication: (
      environment: EnvironmentKey,
      upload: Upload,
    ): Result<PublishedDeployment | undefined> => {
      const earlier = parts.commits.look((draft, given) =>
        earlierPublication({ draft, environment, arguments: upload, given }),
      )
      if (!earlier.ok) return earlier
      return ok(earlier.value === undefined ? undefined : PublishedDeployment.parse(earlier.value))
    },
    publish: (environment: EnvironmentKey, upload: Upload, published: Publication) =>
      mutation(publishFromOutside(published), PublishedDeployment)(environment, upload),
  }
}

export type OutsideMutations = Readonly<ReturnType<typeof outsideMutations>>
