/** What is on a Computer before its first Session: an ordered list of steps, built by an immutable chain. */
import { definition } from "./definition.ts"
import type { DirectorySource } from "./source.ts"

export type ImageStep =
  | { readonly kind: "from"; readonly reference: string }
  | { readonly kind: "copy"; readonly source: DirectorySource; readonly destination: string }
  | { readonly kind: "workdir"; readonly path: string }

export interface Image {
  readonly [definition]: "image"
  readonly name: string
  readonly steps: readonly ImageStep[]
  /** Start from a published base image. */
  from(reference: string): Image
  /** Put the content of a directory at `destination`. */
  copy(source: DirectorySource, destination: string): Image
  /** Directory in which Sessions start. */
  workdir(path: string): Image
}

const chain = (name: string, steps: readonly ImageStep[]): Image => {
  const then = (step: ImageStep): Image => chain(name, [...steps, Object.freeze(step)])
  return Object.freeze<Image>({
    [definition]: "image",
    name,
    steps: Object.freeze(steps),
    from: (reference) => then({ kind: "from", reference }),
    copy: (source, destination) => then({ kind: "copy", source, destination }),
    workdir: (path) => then({ kind: "workdir", path }),
  })
}

/** Each call in the chain returns a new image; the one it was called on stays as it was. */
export const image = (name: string): Image => chain(name, [])
