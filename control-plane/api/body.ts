/** Reads a JSON body within its bound. What is too large is refused as soon as that is known, not after it was read. */
import { fail, ok, type Result } from "@computerd/protocol/errors"

const tooLarge = (maxBytes: number): Result<never> =>
  fail("request_too_large", `the body is larger than ${maxBytes} bytes`)

const announced = (request: Request): number => Number(request.headers.get("content-length") ?? 0)

/** Every chunk of a body, until it is larger than it may be. */
export async function* boundedChunks(
  request: Request,
  maxBytes: number,
): AsyncGenerator<Result<Uint8Array>, void> {
  if (announced(request) > maxBytes) {
    yield tooLarge(maxBytes)
    return
  }
  if (request.body === null) return
  let size = 0
  for await (const chunk of request.body) {
    size += chunk.byteLength
    if (size > maxBytes) {
      yield tooLarge(maxBytes)
      return
    }
    yield ok(chunk)
  }
}

export const readJson = async (request: Request, maxBytes: number): Promise<Result<unknown>> => {
  const chunks: Uint8Array[] = []
  try {
    for await (const chunk of boundedChunks(request, maxBytes)) {
      if (!chunk.ok) return chunk
      chunks.push(chunk.value)
    }
    return ok(JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(Buffer.concat(chunks))))
  } catch {
    return fail("invalid_arguments", "the body is not JSON in UTF-8")
  }
}
