/** One listener for both contenders: tells when the bare process has spoken, and plays the supervisor for the host. */
const frame = (value: unknown): string => JSON.stringify(value)

const uuid = "01890000-0000-7000-8000-000000000000"
const initialize = {
  type: "initialize",
  context: {
    session: { id: `ses_${uuid}` },
    computer: { id: `cmp_${uuid}` },
    deployment: { id: `dep_${uuid}` },
    recovery: { kind: "initial" },
  },
}

export interface Endpoint {
  readonly url: string
  /** Resolves when the next process is ready. */
  readonly ready: () => Promise<void>
  readonly close: () => Promise<void>
}

export const openEndpoint = (): Endpoint => {
  let done: () => void = () => {}
  const server = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    fetch: (request, self) => (self.upgrade(request) ? undefined : new Response("", { status: 400 })),
    websocket: {
      message: (socket, data) => {
        if (data === "ready") return done()
        const message = JSON.parse(String(data))
        if (message.kind === "hello") {
          socket.send(frame({ kind: "welcome", protocol: 1, received: 0 }))
          socket.send(frame({ kind: "frame", seq: 1, ack: 0, body: initialize }))
        }
        if (message.body?.type === "ready") done()
        if (message.body?.type === "failed") throw new Error(message.body.error.message)
      },
    },
  })
  return {
    url: `ws://127.0.0.1:${server.port}/`,
    ready: () =>
      new Promise((resolve) => {
        done = resolve
      }),
    close: () => server.stop(true),
  }
}
