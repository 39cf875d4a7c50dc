/**
 * Stands for the session host: speaks the real channel from a real process, and does what the Agent's name says.
 * Reconnects when the channel closes, as the host does.
 */
import { spawn } from "node:child_process"
import { existsSync, writeFileSync } from "node:fs"
import type { ChannelDown, ChannelUp } from "@computerd/protocol/channel"
import { decodeChannelDown, SessionBootstrap } from "@computerd/protocol/channel"
import { RequestId } from "@computerd/protocol/ids"
import { outboundFrames } from "@computerd/protocol/numbering"

const input = await Bun.stdin.text()
const bootstrap = SessionBootstrap.parse(JSON.parse(input))
const behaviour = bootstrap.agent
const outbound = outboundFrames<ChannelUp>()
let received = 0
/** A Turn that writes lines until a message comes. */
let held: string | undefined
let socket: WebSocket | undefined
let isOpen = false

const send = (frame: unknown): void => {
  if (isOpen) socket?.send(JSON.stringify(frame))
}
const say = (body: ChannelUp): void => {
  const frame = outbound.push(body)
  send({ kind: "frame", ...frame, ack: received })
}
const writeProof = (name: string, text: string): void => writeFileSync(`${process.cwd()}/${name}`, text)
const detached = (script: string): void => {
  spawn("setsid", ["sh", "-c", script], { detached: true, stdio: "ignore" }).unref()
}

const leave = (code: number): void => {
  process.exit(code)
}

const whenThere = (name: string, then: () => void): void => {
  const timer = setInterval(() => {
    if (!existsSync(`${process.cwd()}/${name}`)) return
    clearInterval(timer)
    then()
  }, 5)
}

const initialize = (context: unknown): void => {
  switch (behaviour) {
    case "init-fails":
      say({ type: "failed", phase: "init", error: { code: "handler_failed", message: "init threw" } })
      setTimeout(() => process.exit(1), 50)
      return
    case "never-ready":
      return
    case "patient":
      whenThere("ready", () => say({ type: "ready" }))
      return
    case "fails-on-demand":
      whenThere("fail", () => {
        say({ type: "failed", phase: "init", error: { code: "handler_failed", message: "told to" } })
        setTimeout(() => process.exit(1), 50)
      })
      return
    case "tells-recovery":
      writeProof(
        `recovery-${bootstrap.generation}.json`,
        JSON.stringify((context as { recovery: unknown }).recovery),
      )
      break
    case "leaves-on-demand":
      whenThere("leave", () => leave(7))
      break
    case "exit-137":
      leave(137)
      return
    case "kill-itself":
      process.kill(process.pid, "SIGKILL")
      return
    case "escapee":
      detached("sleep 600")
      spawn("sleep", ["600"], { stdio: "inherit" })
      break
    case "tells-secret":
      writeProof("secret.txt", bootstrap.secret)
      break
    case "environment":
      writeProof("environment.json", JSON.stringify(process.env))
      break
    case "connects":
      say({ type: "mcp_connection", requestId: RequestId.parse(`req_${Bun.randomUUIDv7()}`) })
      break
    default:
      break
  }
  say({ type: "ready" })
}

const runTurn = (body: Extract<ChannelDown, { type: "turn" }>): void => {
  const turnId = body.turn.id
  const text = body.turn.input[0]?.text ?? ""
  say({ type: "turn_started", turnId })
  if (text === "hang") return
  if (text === "hold") {
    let line = 0
    held = turnId
    setInterval(() => {
      if (held === turnId) say({ type: "turn_output", turnId, text: `line ${line++}` })
    }, 3)
    return
  }
  if (text.startsWith("exit ")) process.exit(Number(text.slice(5)))
  if (text === "reconnect") socket?.close()
  if (text === "die") process.kill(process.pid, "SIGKILL")
  if (text === "invalid")
    send({ kind: "frame", seq: outbound.lastSeq() + 1, ack: received, body: { type: "no" } })
  if (text === "flood")
    for (let count = 0; count < 200; count += 1) say({ type: "turn_output", turnId, text: `${count};` })
  say({ type: "turn_output", turnId, text })
  say({ type: "turn_settled", turnId, outcome: { status: "completed", result: { text, pid: process.pid } } })
}

const take = (body: ChannelDown): void => {
  switch (body.type) {
    case "initialize":
      initialize(body.context)
      break
    case "turn":
      runTurn(body)
      break
    case "cancel_turn":
      if (behaviour === "ignores-cancel") return
      say({
        type: "turn_settled",
        turnId: body.turnId,
        outcome: { status: body.status, error: { code: body.status } },
      })
      break
    case "message":
      if (held === body.turnId) {
        held = undefined
        say({
          type: "turn_settled",
          turnId: body.turnId,
          outcome: { status: "completed", result: { pid: process.pid } },
        })
        return
      }
      if (behaviour === "settles-first") {
        const { turnId, messageId } = body
        say({ type: "turn_settled", turnId, outcome: { status: "completed", result: null } })
        say({ type: "messages_dropped", turnId, messageIds: [messageId] })
        return
      }
      say({ type: "turn_output", turnId: body.turnId, text: `message ${body.content[0]?.text}` })
      break
    case "mcp_connection_result":
      writeProof("connection.json", JSON.stringify(body.result))
      break
    case "shutdown":
      if (behaviour !== "ignores-shutdown") process.exit(0)
      break
    default:
      break
  }
}

const connect = (): void => {
  const opened = new WebSocket(bootstrap.channelUrl, {
    headers: { Authorization: `Bearer ${bootstrap.secret}` },
  } as unknown as string[])
  socket = opened
  opened.onopen = () => {
    const { sessionId, generation } = bootstrap
    opened.send(JSON.stringify({ kind: "hello", protocol: 1, sessionId, generation, received }))
  }
  opened.onmessage = (event) => {
    const decoded = decodeChannelDown(String(event.data))
    if (decoded.kind === "invalid") throw new Error(decoded.message)
    const { frame } = decoded
    if (frame.kind === "welcome") {
      isOpen = true
      outbound.acknowledge(frame.received)
      for (const missing of outbound.after(frame.received)) send({ kind: "frame", ...missing, ack: received })
    } else if (frame.kind === "ack") outbound.acknowledge(frame.ack)
    else if (frame.kind === "ping") send({ kind: "pong" })
    else if (frame.kind === "reject") process.exit(3)
    else if (frame.kind === "frame" && frame.seq === received + 1) {
      received = frame.seq
      outbound.acknowledge(frame.ack)
      take(frame.body)
      send({ kind: "ack", ack: received })
    }
  }
  opened.onclose = () => {
    isOpen = false
    if (behaviour !== "never-returns") setTimeout(connect, 20)
  }
}

connect()
setInterval(() => undefined, 60_000)
