/** Reads a body to its end or to the limit, whichever comes first. A declared length above the limit never gets here. */
import { isUtf8 } from "node:buffer"
import { mcpRequestBodyMaxBytes } from "@computerd/protocol/limits"

export type Body =
  | { readonly kind: "text"; readonly text: string }
  /** It is here and is not UTF-8. */
  | { readonly kind: "not_text" }
  | { readonly kind: "too_large" }
  /** The peer went away or broke the encoding of the transfer: nobody is there to be told. */
  | { readonly kind: "lost" }

const decoded = (bytes: Buffer): Body =>
  isUtf8(bytes) ? { kind: "text", text: bytes.toString("utf8") } : { kind: "not_text" }

/** Chunked: the length is known only at the end, so it is counted as it comes. */
const counted = async (stream: ReadableStream<Uint8Array>): Promise<Buffer | undefined> => {
  const chunks: Uint8Array[] = []
  let length = 0
  for await (const chunk of stream) {
    length += chunk.byteLength
    if (length > mcpRequestBodyMaxBytes) return undefined
    chunks.push(chunk)
  }
  return Buffer.concat(chunks, length)
}

export const readBody = async (request: Request): Promise<Body> => {
  try {
    if (request.headers.get("content-length") !== null || request.body === null)
      return decoded(Buffer.from(await request.arrayBuffer()))
    const bytes = await counted(request.body)
    return bytes === undefined ? { kind: "too_large" } : decoded(bytes)
  } catch {
    return { kind: "lost" }
  }
}
