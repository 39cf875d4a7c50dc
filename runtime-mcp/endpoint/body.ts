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

const lost: Body = { kind: "lost" }

const decoded = (bytes: Buffer): Body =>
  isUtf8(bytes) ? { kind: "text", text: bytes.toString("utf8") } : { kind: "not_text" }

/** Chunked: the length is known only at the end, so it is counted as it comes. */
const counted = async (stream: ReadableStream<Uint8Array>): Promise<Body> => {
  const chunks: Uint8Array[] = []
  let length = 0
  for await (const chunk of stream) {
    length += chunk.byteLength
    if (length > mcpRequestBodyMaxBytes) return { kind: "too_large" }
    chunks.push(chunk)
  }
  return decoded(Buffer.concat(chunks, length))
}

/** Hands the body over once, by a call and not by one more promise: this is on every request's way. */
export const readBody = (request: Request, receive: (body: Body) => void): void => {
  const declared = request.headers.get("content-length") !== null
  const stream = declared ? null : request.body
  if (stream !== null) {
    counted(stream).then(receive, () => receive(lost))
    return
  }
  request.arrayBuffer().then(
    (bytes) => receive(decoded(Buffer.from(bytes))),
    () => receive(lost),
  )
}
